"""``once``: an effect that is to happen once, though its job may run twice.

A row of the database says who began before the effect, and what came of it after it. What ends the block decides:

* its end: done, and every later run gets the result;
* an exception: known not to have happened, and free to be tried again. But a time-out, of the job or of what it called
  (a ``TimeoutError``, also as the cause of another error), leaves it open whether it happened; and so does what ends
  the process;
* nothing, as the process is gone: unknown, once its lease is over. What is done then, ``on_unknown`` says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, get_args

from jobops.context import lease, once_records, once_turns
from jobops.context.models import OnceRecord
from jobops.context.once_begin import Place, begin
from jobops.context.outbox import in_transaction
from jobops.contracts.config import config
from jobops.contracts.errors import EffectNotRecorded, LeaseLost, OutcomeUnknown, ResultNotKept
from jobops.contracts.guard import check_key
from jobops.contracts.job_type import OnUnknown
from jobops.contracts.returned import NOT_KEPT
from jobops.contracts.running import RunningJob, running_job
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode_result, encode_result

log = logging.getLogger("jobops.context")

P = ParamSpec("P")
T = TypeVar("T")

MOST_CAUSES = 50


class OnceMisused(RuntimeError):
    """``once`` in a place or in a way in which it could not keep its word."""


class Once:
    """One effect: ``with`` it or ``run`` it. ``done``: an earlier run did it, and ``result`` is what that one had.

    Entering raises OnceBusy (another run is at it: the job comes again), OutcomeUnknown (``on_unknown="dead"``),
    LeaseLost, OnceMisused, and what the database raises; leaving raises EffectNotRecorded, LeaseLost, and InvalidJob
    for a result that cannot be kept as JSON within ``JOBOPS_PAYLOAD_LIMIT``. A job that runs under no lease, as in a
    test, keeps what it did in memory.
    """

    def __init__(
        self,
        job: RunningJob,
        key: str,
        *,
        on_unknown: OnUnknown = "run",
        atomic: bool = False,
        any_result: bool = False,
    ) -> None:
        try:
            self.key = check_key(key)
        except ValueError as error:
            raise InvalidJob("once", str(error)) from None
        if on_unknown not in get_args(OnUnknown):
            raise InvalidJob("on_unknown", f'{on_unknown!r} is not known; say "run" or "dead"')
        self.done = False
        self._job, self._on_unknown, self._atomic, self._any_result = job, on_unknown, atomic, any_result
        self._result: Any = None
        self._stored: str | None = None
        self._row: OnceRecord | None = None
        self._place: Place | None = None

    @property
    def result(self) -> Any:
        """What the effect came to. Raises ResultNotKept if it is done, and what it came to was not kept."""
        if not self.done:
            return self._result
        if not self._stored:
            raise ResultNotKept(f"once {self.key!r}")
        return decode_result(self._stored.encode())

    @result.setter
    def result(self, value: Any) -> None:
        if self.done:
            raise OnceMisused(f"once {self.key!r} is done already: ask `.done` first, or use `.run()`")
        self._result = value

    @property
    def has_result(self) -> bool:
        """Whether what a done effect came to was kept."""
        return bool(self._stored)

    def run(self, func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """What ``func`` returns: called now, or by the run that did it."""
        with self:
            if not self.done:
                self._result = func(*args, **kwargs)
            return self.result  # type: ignore[no-any-return]

    def __enter__(self) -> Once:
        try:
            once_turns.take(self._job, self.key)
        except once_turns.WaitsForItself as error:
            raise OnceMisused(f"once {self.key!r}: {error}") from None
        try:
            self._begin()
        except BaseException:
            once_turns.give_back(self._job, self.key)
            raise
        if self.done:
            once_turns.give_back(self._job, self.key)
        return self

    def _begin(self) -> None:
        if not self._job.token:
            self._stored = self._job.saved.results.get(self.key)
            self.done = self._stored is not None
            return
        if not self._atomic and in_transaction():
            raise OnceMisused(
                f"once {self.key!r} within a transaction: that it began could not be committed before the effect; "
                "leave the transaction first, or, for an effect that is a database write, say atomic=True"
            )
        self._row, self._place = begin(self._job, self.key, self._on_unknown, atomic=self._atomic)
        self.done = self._place is None
        if self.done:
            self._stored = self._row.result
        else:
            once_turns.note_begun(self._row)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.done:
            return
        try:
            if self._row is None or self._place is None:
                if error is None:
                    self._job.saved.results[self.key] = self._encoded()
            elif self._atomic:
                self._end_together(self._row, self._place, kind, error, trace)
            elif error is None:
                self._end(self._row)
            else:
                self._failed(self._row, error)
        finally:
            once_turns.give_back(self._job, self.key)

    def _end(self, row: OnceRecord) -> None:
        fault = None
        try:
            stored = self._encoded()
        except InvalidJob as error:
            # It has happened: that is recorded, whatever it came to, and told as a mistake at once, not in a later run.
            stored, fault = "", error
        try:
            ours = once_records.patiently(lambda: once_records.finish(row, stored))
        except once_records.AWAY as away:
            raise EffectNotRecorded(self.key) from away
        if not ours:
            raise LeaseLost(self._job.id)
        once_turns.note_ended(row)
        if fault is not None:
            raise fault

    def _end_together(
        self,
        row: OnceRecord,
        place: Place,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        once_turns.note_ended(row)  # with its record, or without: what ends the transaction says so
        if error is None:
            try:
                stored = self._encoded()
                lease.hold(self._job)  # right before the commit: what a leftover did is rolled back
                if not once_records.finish(row, stored):
                    raise LeaseLost(self._job.id)
            except BaseException as late:
                place.__exit__(type(late), late, late.__traceback__)
                raise
        place.__exit__(kind, error, trace)

    def _encoded(self) -> str:
        """The result's JSON; empty if it cannot be kept and need not be. Raises InvalidJob."""
        try:
            data = encode_result(self._result)
            limit = config().payload_limit
            if len(data) > limit:
                raise InvalidJob("result", f"{len(data)} bytes as JSON, the limit is {limit}; return a reference to it")
        except InvalidJob:
            if not self._any_result:
                raise
            return ""
        return data.decode()

    def _failed(self, row: OnceRecord, error: BaseException) -> None:
        if not _is_known(error):
            log.warning("job %s, once %r: whether it happened is not known: %r", self._job.id, self.key, error)
            return
        try:
            once_records.patiently(lambda: once_records.drop(row))
            once_turns.note_ended(row)
        except once_records.AWAY:
            log.exception("job %s, once %r: that it failed could not be recorded", self._job.id, self.key)


def guarded(key: str, on_unknown: OnUnknown, call: Callable[[], Any], /) -> Any:
    """The contract's guard: what ``call`` returns, now or in the run that did it; NOT_KEPT if that is not kept."""
    job = running_job()
    assert job is not None, "a guard is asked within a job"
    with Once(job, key, on_unknown=on_unknown, any_result=True) as effect:
        if effect.done:
            log.info("job %s: once %r is done already, by an earlier run", job.id, key)
            return effect.result if effect.has_result else NOT_KEPT
        effect.result = value = call()
    return value


def _is_known(error: BaseException) -> bool:
    """Whether an effect that ended with ``error`` has surely not happened.

    Not after a time-out: the other side may have done it, and only the answer did not come. Nor after what interrupts
    the process itself.
    """
    looked_at: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting and len(looked_at) < MOST_CAUSES:
        each = waiting.pop()
        if each is None or id(each) in looked_at:
            continue
        if not isinstance(each, Exception) or isinstance(each, TimeoutError | OutcomeUnknown):
            return False
        looked_at.add(id(each))
        waiting += [each.__cause__, each.__context__]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions
    return True
