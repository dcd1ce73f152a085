"""A handle on an enqueued job: how it stands, and what it returned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from jobops.contracts.enqueuer import JobReading, lookup
from jobops.contracts.errors import JobFailed, ResultGone, ResultNotKept, ResultNotReady
from jobops.engine.payload import decode_result

FIRST_POLL_S = 0.005
LONGEST_POLL_S = 0.25
_ENDED_WITHOUT = frozenset({"dead", "discarded", "cancelled"})


@dataclass(frozen=True, slots=True)
class Failure:
    """How a job ended without a result. ``state``: dead, discarded or cancelled. ``reason``: why it was given up, of a
    dead one (exhausted, poison, worker_lost, timeout, unresolvable). ``attempts``: how often it started."""

    state: str
    error_class: str
    error: str
    reason: str
    attempts: int


@dataclass(frozen=True, slots=True)
class Handle:
    """A job that was enqueued. ``state``: as it was then (queued, scheduled, outbox; coalesced: ``id`` is that of
    the job with the same key that is alive or, within the type's dedup window, has succeeded)."""

    id: str
    state: str = "queued"

    def status(self) -> str:
        """The job's state now: outbox, queued, waiting (for a limit), scheduled, started, succeeded, discarded, dead,
        cancelled or coalesced. Raises ResultGone when nothing is kept of it."""
        return _read(self.id).state

    def progress(self) -> tuple[int, int] | None:
        """How far it is, as it told last: done, total. None if it tells nothing. Raises ResultGone as ``status``."""
        return _follow(self.id)[1].progress

    def failure(self) -> Failure | None:
        """How it ended without a result; None while it has not ended, or when it succeeded.

        Raises ResultGone as ``status``.
        """
        reading = _follow(self.id)[1]
        if reading.state not in _ENDED_WITHOUT:
            return None
        return Failure(reading.state, reading.error_class, reading.error, reading.reason, reading.attempts)

    def result(self, timeout: float | None = None) -> Any:
        """What the job returned, once it has succeeded; waits at most ``timeout`` seconds, for ever without one.

        Raises JobFailed when it ended dead, discarded or cancelled, ResultNotReady (a TimeoutError) when the
        wait is over, ResultNotKept when it succeeded and what it returned is not kept (no JSON, or above the worker's
        ``JOBOPS_PAYLOAD_LIMIT``), and ResultGone when nothing is kept of the job: its ``result_ttl`` is over. A job
        enqueued in a transaction does not start before the commit: do not wait for it inside.
        """
        began = time.monotonic()
        poll_s = FIRST_POLL_S
        job_id = self.id
        while True:
            job_id, reading = _follow(job_id)
            if reading.state == "succeeded":
                if not reading.result:
                    raise ResultNotKept(f"job {job_id}")
                return decode_result(reading.result)
            if reading.state in _ENDED_WITHOUT:
                raise JobFailed(job_id, reading.state, reading.error_class, reading.error)
            waited = time.monotonic() - began
            if timeout is not None and waited >= timeout:
                raise ResultNotReady(job_id, reading.state, timeout)
            time.sleep(poll_s if timeout is None else min(poll_s, timeout - waited))
            poll_s = min(poll_s * 2, LONGEST_POLL_S)


def _follow(job_id: str) -> tuple[str, JobReading]:
    """The job that does the work, and how it stands: enqueued in a transaction, its key may have turned out to be taken
    only on commit."""
    while True:
        reading = _read(job_id)
        if reading.state != "coalesced" or reading.reason in ("", job_id):
            return job_id, reading
        job_id = reading.reason


def _read(job_id: str) -> JobReading:
    reading = lookup()(job_id)
    if reading is None:
        raise ResultGone(job_id)
    return reading
