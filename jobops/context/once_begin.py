"""Who may begin an effect: nobody while another run is at it; and when one began whose lease is over, and nobody knows
whether it happened, only as the caller says. Nothing here guesses in silence."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from django.utils import timezone

from jobops.context import lease, once_records
from jobops.context.models import OnceRecord
from jobops.contracts.errors import LeaseLost, OnceBusy, OutcomeUnknown
from jobops.contracts.job_type import OnUnknown
from jobops.contracts.running import RunningJob

log = logging.getLogger("jobops.context")

PATIENCE_S = 2.0
"""How long a run waits for the one that is at it, before it is postponed."""

POLL_S = 0.1
SHORTEST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0

Place = AbstractContextManager[object]
"""Where the row is written: a transaction that stays open, or nothing."""


def begin(
    job: RunningJob, key: str, on_unknown: OnUnknown, place_of: Callable[[], Place]
) -> tuple[OnceRecord, Place | None]:
    """The row, and the open place in which the effect is this run's to do; None: it is done already.

    Raises LeaseLost, OnceBusy, OutcomeUnknown, and what the database raises.
    """
    until = time.monotonic() + PATIENCE_S
    left: OnceRecord | None = None
    while True:
        # Before anything is written: a run that slept past its lease is not the one to do it.
        lease.hold(job)
        row, place = _write(job, key, left, place_of())
        if row is not None and place is not None:
            _still_ours(job, row, place, fresh=left is None)
            return row, place
        left = None
        if row is None:
            continue  # it went while we looked: the other one is known to have failed
        if row.state == OnceRecord.State.DONE:
            return row, None
        if not _is_at_it(job, row):
            left = _left_behind(job, key, row, on_unknown)
        elif time.monotonic() < until:
            time.sleep(POLL_S)
        else:
            raise OnceBusy(key, row.job_id, _worth_a_look_in(row))


def _write(job: RunningJob, key: str, left: OnceRecord | None, place: Place) -> tuple[OnceRecord | None, Place | None]:
    """Begin anew, or take over what was ``left``. The place stays open only if the effect is this run's."""
    place.__enter__()
    try:
        if left is None:
            row, mine = once_records.begin(job, key)
        else:
            mine = once_records.take_over(left, job)
            row = left if mine else None
    except BaseException:
        place.__exit__(*sys.exc_info())
        raise
    if mine:
        return row, place
    place.__exit__(None, None, None)
    return row, None


def _still_ours(job: RunningJob, row: OnceRecord, place: Place, *, fresh: bool) -> None:
    """Once more, right before the effect: writing the row may have taken long."""
    try:
        lease.hold(job)
    except BaseException as error:
        if fresh and isinstance(error, LeaseLost):
            once_records.drop(row)  # known: nothing has happened. What was taken over is as unknown as before.
        place.__exit__(*sys.exc_info())
        raise


def _is_at_it(job: RunningJob, row: OnceRecord) -> bool:
    """Whether the lease of another run that began stands. What this very run began and did not end is left behind."""
    if row.token == job.token:
        return False
    return lease.insist(job, lambda engine: engine.lease_stands(row.job_id, row.token))


def _left_behind(job: RunningJob, key: str, row: OnceRecord, on_unknown: OnUnknown) -> OnceRecord:
    """The row of a run that began and is gone, to be taken over. Raises OutcomeUnknown if a person must look first."""
    began = f"attempt {row.attempt} of job {row.job_id} began it at {row.began_at:%Y-%m-%d %H:%M:%S} UTC"
    if on_unknown == "dead" and not _is_decided(job, row):
        raise OutcomeUnknown(
            f"once {key!r}: {began}, and its end is not known, so it may have happened; look whether it did: "
            "a replay does it again, a discard leaves it"
        )
    log.warning("job %s, once %r: %s, and its end is not known; it is done again", job.id, key, began)
    return row


def _is_decided(job: RunningJob, row: OnceRecord) -> bool:
    """Whether a person sent this job to run when it was unknown already; what it left behind itself nobody has seen."""
    if row.job_id == job.id or row.began_at.timestamp() * 1000 > job.enqueued_at_ms:
        return False
    return bool(lease.insist(job, lambda engine: engine.replay_of(job.id)))


def _worth_a_look_in(row: OnceRecord) -> float:
    # The longer it has taken, the longer it may still take: a job that waits comes a bounded number of times.
    age_s = (timezone.now() - row.began_at).total_seconds()
    return min(LONGEST_WAIT_S, max(SHORTEST_WAIT_S, age_s / 2))
