"""Who may begin an effect: nobody while another run is at it; and when one began whose lease is over, and nobody knows
whether it happened, only as the caller says. Nothing here guesses in silence."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from contextlib import AbstractContextManager

from django.db import Error as DatabaseError
from django.db import OperationalError

from jobops.context import lease, once_records, once_turns
from jobops.context.impatient import ImpatientTransaction, is_locked
from jobops.context.models import OnceRecord
from jobops.contracts.errors import OnceBusy, OutcomeUnknown
from jobops.contracts.job_type import OnUnknown
from jobops.contracts.running import RunningJob

log = logging.getLogger("jobops.context")

PATIENCE_S = 2.0
"""How long a run waits for the one that is at it, before it is postponed."""

POLL_S = 0.1
SHORTEST_LOCK_WAIT_S = 0.05
SHORTEST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0

Place = AbstractContextManager[object]
"""Where the effect happens: the transaction of its row, or nothing."""


def begin(job: RunningJob, key: str, on_unknown: OnUnknown, *, atomic: bool) -> tuple[OnceRecord, Place | None]:
    """The row, and the open place in which the effect is this run's to do; None: it is done already.

    ``atomic``: that place is the row's transaction, which stays open. Raises LeaseLost, OnceBusy, OutcomeUnknown, and
    what the database raises.
    """
    until = time.monotonic() + PATIENCE_S
    left: OnceRecord | None = None
    while True:
        # Before anything is written: a run that slept past its lease is not the one to do it.
        lease.hold(job)
        row = left or once_records.find(job, key)
        if row is None or left is not None:
            written = _write(job, key, left, atomic, until)
            if written is not None:
                _still_ours(job, *written, fresh=left is None)
                return written
            left = None  # somebody was faster
            if time.monotonic() > until:
                raise OnceBusy(key, "", SHORTEST_WAIT_S)
        elif row.state == OnceRecord.State.DONE:
            return row, None
        elif not _is_at_it(job, row):
            left = _left_behind(job, key, row, on_unknown)
        elif time.monotonic() < until:
            time.sleep(POLL_S)
        else:
            raise OnceBusy(key, row.job_id, _worth_a_look_in(job, row))


def _write(
    job: RunningJob, key: str, left: OnceRecord | None, atomic: bool, until: float
) -> tuple[OnceRecord, Place] | None:
    """Begin anew, or take over what was ``left``. None: somebody else has done so.

    Raises OnceBusy where the transaction of another run holds the row, or on SQLite the whole database, until then.
    """
    at = lease.now(job)
    place = ImpatientTransaction(max(SHORTEST_LOCK_WAIT_S, until - time.monotonic()))
    try:
        place.__enter__()
        try:
            row = once_records.begin(job, key, at) if left is None else once_records.take_over(left, job, at)
            place.be_patient()
        except BaseException:
            place.__exit__(*sys.exc_info())
            raise
    except OperationalError as error:
        if is_locked(error):
            raise OnceBusy(key, "", SHORTEST_WAIT_S) from error
        raise
    if row is not None and atomic:
        return row, place
    place.__exit__(None, None, None)
    return (row, contextlib.nullcontext()) if row is not None else None


def _still_ours(job: RunningJob, row: OnceRecord, place: Place, *, fresh: bool) -> None:
    """Once more, right before the effect: writing the row may have taken long."""
    try:
        lease.hold(job)
    except BaseException:
        if fresh:  # known: nothing has happened. What was taken over is as unknown as before.
            with contextlib.suppress(DatabaseError):
                once_records.drop(row)
        place.__exit__(*sys.exc_info())
        raise


def _is_at_it(job: RunningJob, row: OnceRecord) -> bool:
    """Whether somebody else that began may still be at it: another run whose lease stands, or another process of this
    one. No thread of this process is, as it is this one's turn."""
    if row.token == job.token:
        return not once_turns.was_begun_here(row)
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
    # Both instants are of Redis's clock: those of two workers may be hours apart.
    if row.job_id == job.id or row.began_at.timestamp() * 1000 > job.enqueued_at_ms:
        return False
    return bool(lease.insist(job, lambda engine: engine.replay_of(job.id)))


def _worth_a_look_in(job: RunningJob, row: OnceRecord) -> float:
    # The longer it has taken, the longer it may still take: a job that waits comes a bounded number of times.
    age_s = (lease.now(job) - row.began_at).total_seconds()
    return min(LONGEST_WAIT_S, max(SHORTEST_WAIT_S, age_s / 2))
