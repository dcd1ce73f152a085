"""Runs one claimed job by its contract, and says how the attempt ended.

Whatever a job does to the interpreter is an outcome of that job: it exits, it raises something whose text cannot
be read, it catches its time-out, it returns what cannot be stored.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import time
import types
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from jobops.contracts import registry
from jobops.contracts.backoff import Uniform
from jobops.contracts.error_policy import Verdict
from jobops.contracts.error_text import MESSAGE_LIMIT, class_of, clean, shown_message, shown_traceback
from jobops.contracts.job_type import JobType
from jobops.contracts.running import RunningJob, running
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode, encode_result
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.timeouts import JobTimeout, SoftTimeout

logger = logging.getLogger(__name__)

TIMED_OUT = "JobTimeout"
SHORTEST_GRACE_WAIT_S = 1.0
CLOCK_SKEW_S = 1.0
"""A job's age is the difference of two hosts' clocks: the last attempt must not come too early for one of them."""

LONGEST_ASKED_S = 7 * 86_400.0
"""Seconds that a job itself may ask to be run again in. A slip (a wrong year) must not park it for ever."""

_NEVER_RUN = (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType)
# Frames of ours above the job's own in a traceback: run() and _call(); Context.run is not a Python frame.
_OUR_FRAMES = 2


class ContractRunner:
    """The worker's runner: registered job types only, each by its contract. ``rng`` draws the jitter."""

    # The module and not an instance of Random: it is seeded anew in every forked process.
    def __init__(self, rng: Uniform = random) -> None:
        self._rng = rng

    def run(self, job: ClaimedJob, alarm: SoftTimeout) -> Outcome:
        """Runs ``job`` under ``alarm`` and its time-out. Never raises."""
        job_type = registry.resolve(job.job_type)
        if job_type is None:
            return _unresolvable("UnknownJobType", f"no job type is called {job.job_type!r} in this worker")
        try:
            name, args, kwargs = decode(job.data)
        except InvalidJob as error:
            return _unresolvable("InvalidJob", str(error))
        if registry.resolve(name) is not job_type:
            return _unresolvable("InvalidJob", f"the payload is for {name!r}, the job for {job.job_type!r}")
        try:
            # In a copy: what a job leaves in context variables (a language, a log's fields) ends with it.
            value = copy_context().run(_call, job, job_type.func, args, kwargs, alarm)
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the job's too
            return self._failed(job, job_type, error, timed_out=alarm.fired)
        if alarm.fired:
            return self._timed_out(
                job, job_type, JobTimeout(job.timeout_ms / 1000), "; the job caught that and returned"
            )
        return _succeeded(job, value)

    def _failed(self, job: ClaimedJob, job_type: JobType, error: BaseException, *, timed_out: bool) -> Outcome:
        try:
            if isinstance(error, JobTimeout):
                return self._timed_out(job, job_type, error)
            if timed_out:
                note = f"; the job caught that and raised {class_of(error)}: {shown_message(error)}"
                return self._timed_out(job, job_type, error, note)
            return self._settled_by_contract(job, job_type, error)
        except BaseException as second:  # noqa: BLE001 - memory or recursion may be spent here as well
            note = f"raised {type(error).__name__}; reading it raised {type(second).__name__}"
            return Outcome.failed("error", type(error).__name__, note, "", self._backoff_ms(job, job_type))

    def _settled_by_contract(self, job: ClaimedJob, job_type: JobType, error: BaseException) -> Outcome:
        age_s = time.time() - job.enqueued_at_ms / 1000
        verdict = job_type.policy.classify(error, age_s=age_s)
        if verdict.action == "discard":
            return Outcome.discarded(class_of(error), shown_message(error))
        trace = shown_traceback(error, skip=_OUR_FRAMES)
        if verdict.action == "poison":
            return Outcome.failed("poison", class_of(error), shown_message(error), trace)
        delay_ms = self._delay_ms(job, job_type, verdict)
        return Outcome.failed("error", class_of(error), shown_message(error), trace, delay_ms)

    def _timed_out(self, job: ClaimedJob, job_type: JobType, error: BaseException, note: str = "") -> Outcome:
        limit = JobTimeout(job.timeout_ms / 1000)
        # A contract may say that a run that takes too long will always take too long: poison_on=JobTimeout.
        poison = job_type.policy.classify(limit).action == "poison"
        return Outcome.failed(
            "poison" if poison else "timeout",
            TIMED_OUT,
            clean(f"{limit}{note}", MESSAGE_LIMIT),
            shown_traceback(error, skip=_OUR_FRAMES),
            self._backoff_ms(job, job_type),
        )

    def _delay_ms(self, job: ClaimedJob, job_type: JobType, verdict: Verdict) -> int:
        if verdict.grace_left_s is not None:
            return math.ceil(_grace_wait(verdict.grace_left_s, job.max_attempts - job.attempt) * 1000)
        if verdict.wait_s is not None:
            wait_s = verdict.wait_s
            if not wait_s <= LONGEST_ASKED_S:
                logger.warning(
                    "job %s of %s asked to be run again in %s s; it is in %d days",
                    job.id, job.job_type, wait_s, LONGEST_ASKED_S // 86_400,
                )  # fmt: skip
                wait_s = LONGEST_ASKED_S
            return math.ceil(wait_s * 1000)
        return self._backoff_ms(job, job_type)

    def _backoff_ms(self, job: ClaimedJob, job_type: JobType) -> int:
        return math.ceil(job_type.backoff.delay(job.attempt, self._rng) * 1000)


def _call(job: ClaimedJob, func: Callable[..., Any], args: Any, kwargs: Any, alarm: SoftTimeout) -> Any:
    current = RunningJob(
        id=job.id,
        tenant=job.tenant,
        lane=job.lane,
        job_type=job.job_type,
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        correlation_id=job.correlation_id or job.id,
        tenant_uid=job.tenant_uid,
        token=job.token,
        resource=job.resource,
        checkpoint=job.checkpoint,
    )
    with running(current), alarm(job.timeout_ms / 1000):
        return func(*args, **kwargs)


def _succeeded(job: ClaimedJob, value: Any) -> Outcome:
    if issubclass(type(value), _NEVER_RUN):  # not `isinstance`, which asks the value too
        # Nothing of the job's body has happened, and it never will; or it is half done, and fights its end.
        kind = type(value).__name__
        if kind != "async_generator":
            with contextlib.suppress(BaseException):
                value.close()
        return Outcome.failed(
            "poison", "TypeError", f"the job returned a {kind} that nobody runs; make it a plain function"
        )
    try:
        return Outcome.succeeded(encode_result(value))
    except BaseException as error:  # noqa: BLE001 - a value may fight being read in any way
        # The job's effect has happened: running it again for the sake of its result would be wrong.
        logger.warning("job %s of %s succeeded, its result is not kept: %s", job.id, job.job_type, shown_message(error))
        return Outcome.succeeded()


def _unresolvable(error_class: str, message: str) -> Outcome:
    return Outcome.failed("unresolvable", error_class, clean(message, MESSAGE_LIMIT))


def _grace_wait(left_s: float, attempts_left: int) -> float:
    # Short waits first, as most rows show up soon, and the last attempt when the grace is over: a half, a quarter, …
    # of what is left of it, for as many attempts as there are.
    if attempts_left <= 1:
        return left_s + CLOCK_SKEW_S
    return max(left_s / float(2 ** min(attempts_left - 1, 4)), min(left_s, SHORTEST_GRACE_WAIT_S))
