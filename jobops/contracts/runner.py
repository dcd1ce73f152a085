"""Runs one claimed job by its contract, and says how the attempt ended.

Whatever a job does to the interpreter is an outcome of that job: it exits, it raises something whose text cannot
be read, it catches its time-out, it returns what cannot be stored.
"""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from typing import Any

from jobops.contracts import registry
from jobops.contracts.backoff import Uniform
from jobops.contracts.error_policy import Verdict
from jobops.contracts.error_text import MESSAGE_LIMIT, class_of, clean, shown_message, shown_traceback
from jobops.contracts.errors import LeaseLost, OnceBusy, RetryLater
from jobops.contracts.guard import guarded
from jobops.contracts.job_type import JobType
from jobops.contracts.promised import promised_by
from jobops.contracts.returned import outcome_of
from jobops.contracts.running import RunningJob, enter, leave
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.timeouts import JobTimeout, SoftTimeout

logger = logging.getLogger(__name__)

TIMED_OUT = "JobTimeout"
SHORTEST_GRACE_WAIT_S = 1.0
CLOCK_SKEW_S = 1.0
"""A job's age is the difference of two hosts' clocks: the last attempt must not come too early for one of them."""

LONGEST_ASKED_S = 7 * 86_400.0
"""Seconds that a job itself may ask to be run again in. A slip (a wrong year) must not park it for ever."""

# Frames of ours above the job's own in a traceback: run() and _call(); Context.run is not a Python frame.
_OUR_FRAMES = 2
_MOST_OF_OURS = 10
"""With a guard there are more of them, up to the job's own function."""


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
        if name != job.job_type and registry.resolve(name) is not job_type:
            return _unresolvable("InvalidJob", f"the payload is for {name!r}, the job for {job.job_type!r}")
        try:
            # In a copy: what a job leaves in context variables (a language, a log's fields) ends with it.
            value = copy_context().run(_call, job, job_type, args, kwargs, alarm)
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the job's too
            return self._failed(job, job_type, error, timed_out=alarm.fired)
        if alarm.fired:
            return self._timed_out(
                job, job_type, JobTimeout(job.timeout_ms / 1000), "; the job caught that and returned"
            )
        return outcome_of(job, value)

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
        # Both on Redis's clock: this host's may be hours off.
        age_s = (job.claimed_at_ms - job.enqueued_at_ms) / 1000
        if isinstance(error, LeaseLost):
            # Whatever is said of it now, the engine refuses it as stale: somebody else has the job.
            logger.warning(
                "job %s of %s, attempt %d, ends without effect: %s", job.id, job.job_type, job.attempt, error
            )
            return Outcome.failed("error", class_of(error), shown_message(error))
        if isinstance(error, OnceBusy | RetryLater):
            postponed = self._postponed(job, job_type, error)
            if postponed is not None:
                return postponed
        verdict = job_type.policy.classify(error, age_s=age_s)
        if verdict.action == "discard":
            return Outcome.discarded(class_of(error), shown_message(error))
        trace = shown_traceback(error, skip=_frames_above(job_type, error))
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
            shown_traceback(error, skip=_frames_above(job_type, error)),
            self._backoff_ms(job, job_type),
        )

    def _postponed(self, job: ClaimedJob, job_type: JobType, error: OnceBusy | RetryLater) -> Outcome | None:
        """Of an error that is not the job's own fault; None of any other."""
        if isinstance(error, OnceBusy):
            delay_ms = math.ceil(error.retry_in * 1000)
        elif error.resource:
            delay_ms = self._delay_ms(job, job_type, Verdict("retry", wait_s=error.after))
        else:
            return None
        message = shown_message(error)
        logger.info("job %s of %s is postponed by %.1f s: %s", job.id, job.job_type, delay_ms / 1000, message)
        brake, within_ms = isinstance(error, RetryLater), promised_by(job_type).drain_sla_ms
        trace = shown_traceback(error, skip=_frames_above(job_type, error))
        return Outcome.postponed(delay_ms, class_of(error), message, trace, brake=brake, within_ms=within_ms)

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


def _call(
    job: ClaimedJob, job_type: JobType, args: Sequence[Any], kwargs: Mapping[str, Any], alarm: SoftTimeout
) -> Any:
    # By position: for every job.
    current = RunningJob(
        job.id, job.tenant, job.lane, job.job_type, job.attempt, job.max_attempts, job.correlation_id or job.id,
        job.tenant_uid, job.token, job.resource, job.checkpoint, job.enqueued_at_ms,
    )  # fmt: skip
    enter(current)
    try:
        with alarm(job.timeout_ms / 1000):
            if job_type.guard is not None:
                return guarded(job_type, args, kwargs)
            return job_type.func(*args, **kwargs)
    finally:
        leave(current)


def _frames_above(job_type: JobType, error: BaseException) -> int:
    """How many frames of ours a traceback begins with, before the job's own function."""
    if job_type.guard is not None:
        code, trace = getattr(job_type.func, "__code__", None), error.__traceback__
        for count in range(_MOST_OF_OURS):
            if trace is None:
                break
            if trace.tb_frame.f_code is code:
                return count
            trace = trace.tb_next
    return _OUR_FRAMES


def _unresolvable(error_class: str, message: str) -> Outcome:
    return Outcome.failed("unresolvable", error_class, clean(message, MESSAGE_LIMIT))


def _grace_wait(left_s: float, attempts_left: int) -> float:
    # Short waits first, as most rows show up soon, and the last attempt when the grace is over: a half, a quarter, …
    # of what is left of it, for as many attempts as there are.
    if attempts_left <= 1:
        return left_s + CLOCK_SKEW_S
    return max(left_s / float(2 ** min(attempts_left - 1, 4)), min(left_s, SHORTEST_GRACE_WAIT_S))
