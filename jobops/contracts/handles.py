"""A handle on an enqueued job: how it stands, and what it returned."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from jobops.contracts.enqueuer import JobReading, lookup
from jobops.contracts.errors import JobFailed, ResultGone, ResultNotReady
from jobops.engine.payload import decode_result

FIRST_POLL_S = 0.005
LONGEST_POLL_S = 0.25
_ENDED_WITHOUT = frozenset({"dead", "discarded", "cancelled"})


@dataclass(frozen=True, slots=True)
class Handle:
    """A job that was enqueued. ``state``: as it was then (queued, scheduled, outbox; coalesced: ``id`` is that of
    the live job with the same key)."""

    id: str
    state: str = "queued"

    def status(self) -> str:
        """The job's state now. Raises ResultGone when nothing is kept of it."""
        return _read(self.id).state

    def result(self, timeout: float | None = None) -> Any:
        """What the job returned, once it has succeeded; waits at most ``timeout`` seconds, for ever without one.

        Raises JobFailed when it ended dead, discarded or cancelled, ResultNotReady (a TimeoutError) when the
        wait is over, and ResultGone when nothing is kept of the job. A job enqueued in a transaction does not
        start before the commit: do not wait for it inside.
        """
        began = time.monotonic()
        poll_s = FIRST_POLL_S
        job_id = self.id
        while True:
            reading = _read(job_id)
            if reading.state == "coalesced" and reading.reason not in ("", job_id):
                # It was enqueued in a transaction, and only on commit its key turned out to be taken.
                job_id = reading.reason
                continue
            if reading.state == "succeeded":
                return decode_result(reading.result) if reading.result else None
            if reading.state in _ENDED_WITHOUT:
                raise JobFailed(job_id, reading.state, reading.error_class, reading.error)
            waited = time.monotonic() - began
            if timeout is not None and waited >= timeout:
                raise ResultNotReady(job_id, reading.state, timeout)
            time.sleep(poll_s if timeout is None else min(poll_s, timeout - waited))
            poll_s = min(poll_s * 2, LONGEST_POLL_S)


def _read(job_id: str) -> JobReading:
    reading = lookup()(job_id)
    if reading is None:
        raise ResultGone(job_id)
    return reading
