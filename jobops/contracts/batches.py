"""``Batch``: many jobs that somebody waits for as one, and the job that runs after them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, ParamSpec, Self
from uuid import uuid4

from jobops.contracts.batch_port import BatchCancelled, BatchGone, BatchStatus, Filling, NewBatch, batches
from jobops.contracts.calls import BoundCall, Call, check_tenant, make_call, tenant_uid_of
from jobops.contracts.decorator import Job
from jobops.contracts.handles import Handle
from jobops.contracts.running import running_job
from jobops.engine.errors import EnqueueRefused, InvalidJob

P = ParamSpec("P")
log = logging.getLogger("jobops.batches")

NAME_LIMIT = 200


class Batch:
    """Many jobs of one tenant, and the job that runs once when every one of them is over well.

    ::

        batch = Batch(tenant="acme", name="Import 2026-11", then=notify.using(tenant="acme").call(user_id=7))
        with batch:
            batch.add(import_row, row_id=1)
            batch.add_many(import_row, ({"row_id": number} for number in range(2, 1000)))
        batch.id, batch.status()

    At the end of the block its members are fixed; ``then`` cannot start before. It starts exactly once, when every
    member has succeeded, was discarded by its contract or was taken into another job with its key; at once, if there is
    no member. While members are dead it is ``stuck``: a replay that succeeds heals it, and when a person discards their
    letters it ends without ``then``, as it does when members are cancelled.

    In a database transaction it begins with the commit, and a rollback leaves nothing of it. Members that are added in
    a transaction or savepoint within the block, and rolled back with it, are none, nor is one that is refused. An
    exception out of the block cancels it, and those of its members that do not run yet. Threads may fill it together;
    what they add is committed, or rolled back, before the block ends.
    """

    def __init__(self, *, tenant: str, name: str = "", then: BoundCall | None = None, correlation_id: str = "") -> None:
        """Nothing is kept before the block begins. ``correlation_id``: shared by its members and ``then``; by default
        that of the job this is called in, else the batch's own id. Raises InvalidJob naming the argument."""
        check_tenant(tenant)
        if not isinstance(name, str) or len(name) > NAME_LIMIT or not name.isprintable():
            raise InvalidJob("name", f"{name!r} cannot be used; give at most {NAME_LIMIT} printable characters")
        job = running_job()
        self.id = uuid4().hex
        self.name = name
        self.tenant = tenant
        self.correlation_id = correlation_id or (job.correlation_id if job is not None else "") or self.id
        self._then = then
        self._filling: Filling | None = None
        self._used = False
        _check_then(tenant, then)

    def __enter__(self) -> Self:
        """Begins filling it. Raises UnknownTenant, and RuntimeError the second time."""
        if self._used:
            raise RuntimeError("a batch is filled once; make another one")
        then = self._then.job._replace(correlation_id=self.correlation_id) if self._then is not None else None
        uid = tenant_uid_of(self.tenant)
        self._filling = batches().open(NewBatch(self.id, self.tenant, self.name, self.correlation_id, uid, then))
        self._used = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends filling it. Raises BatchCancelled when somebody has cancelled it meanwhile, and BatchGone when it was
        rolled back within the block. After an exception it is cancelled, and that exception goes on."""
        filling, self._filling = self._filling, None
        assert filling is not None
        if error is None:
            if not filling.close():
                raise BatchGone(self.id) if batches().status(self.id) is None else BatchCancelled(self.id)
            return
        try:
            filling.abort()
        except Exception:  # the exception that ended the block must not be lost; the scheduler ends what was begun
            log.exception("batch %s could not be cancelled after its filling failed", self.id)

    def add(self, what: Job[P, Any] | Call[P], /, *args: P.args, **kwargs: P.kwargs) -> Handle:
        """Enqueue one member with these arguments. ``what``: a job type, or its ``using(tenant=…, …)`` for a key, a
        lane or a time.

        Raises as ``enqueue``; what is refused is not a member.
        """
        call, filling = self._call_of(what)
        handle = call.enqueue(*args, **kwargs)
        filling.joined([handle])
        return handle

    def add_many(
        self, what: Job[..., Any] | Call[...], /, calls: Iterable[Mapping[str, Any]]
    ) -> list[Handle | EnqueueRefused]:
        """Enqueue a member for each mapping of arguments. Answers and raises as ``enqueue_many``: in the place of one
        that is refused, which is not a member, stands why."""
        call, filling = self._call_of(what)
        answers = call.enqueue_many(calls)
        filling.joined([answer for answer in answers if isinstance(answer, Handle)])
        return answers

    def status(self) -> BatchStatus:
        """How it stands now. Raises BatchGone when nothing is kept of it, as after a rollback."""
        found = batches().status(self.id)
        if found is None:
            raise BatchGone(self.id)
        return found

    def _call_of(self, what: Job[P, Any] | Call[P]) -> tuple[Call[P], Filling]:
        if self._filling is None:
            raise RuntimeError("members are added within `with batch:`; at its end they are fixed")
        call: Call[Any] = make_call(what.job_type, tenant=self.tenant) if isinstance(what, Job) else what
        if call.tenant != self.tenant:
            raise InvalidJob("tenant", f"the batch is of {self.tenant!r}, and its members are; not of {call.tenant!r}")
        if call.child_key:
            raise InvalidJob("child", "a child may exist already, of another batch; the members of a batch are new")
        call = replace(call, batch=self.id, correlation_id=call.correlation_id or self.correlation_id)
        return call, self._filling

    def __repr__(self) -> str:
        return f"<batch {self.id} of {self.tenant}: {self.name or 'without a name'}>"


def _check_then(tenant: str, then: object) -> None:
    if then is None:
        return
    if not isinstance(then, BoundCall):
        right = 'a call with its arguments: notify.using(tenant="acme").call(user_id=7)'
        raise InvalidJob("then", f"{then!r} cannot be used; give {right}")
    how = then.how
    if how.tenant != tenant:
        raise InvalidJob("then", f"it is of tenant {how.tenant!r}, and the batch of {tenant!r}; give both the same one")
    options = {
        "key": how.key,
        "run_after": how.delay_ms or how.due_at_ms,
        "priority": how.front,
        "correlation_id": how.correlation_id,
        "child": how.child_key,
    }
    given = [name for name, value in options.items() if value]
    if given:
        raise InvalidJob("then", f"it takes no {', '.join(given)}: it runs once, when the batch is over; leave it out")
