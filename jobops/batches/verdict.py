"""What a batch comes to, and how it stands in numbers. Pure."""

from __future__ import annotations

from typing import cast

from jobops.batches.models import Batch
from jobops.contracts.batch_port import BatchState, BatchStatus
from jobops.engine.batch_commands import BatchCounts

State = Batch.State


def verdict(batch: Batch, counts: BatchCounts, *, parked: int = 0, missing: int = 0) -> Batch.State:
    """The state that the batch is to be in. ``parked``: members that a person has to let go; ``missing``: members that
    are nowhere. One that is being filled, or is over, stays what it is."""
    if batch.state not in (State.RUNNING, State.STUCK):
        return State(batch.state)
    if counts.dead or parked:
        return State.STUCK
    if counts.left or counts.over + missing < batch.total:
        return State.RUNNING
    if missing or counts.lost:
        return State.LOST
    return State.ENDED if counts.cancelled or counts.dropped else State.SUCCEEDED


def status_of(batch: Batch, counts: BatchCounts | None) -> BatchStatus:
    """How it stands. ``counts``: what Redis tells now; None when it cannot be asked, or has forgotten the batch."""
    counts = counts or BatchCounts()
    succeeded = max(batch.succeeded, counts.succeeded)
    discarded = max(batch.discarded, counts.discarded)
    cancelled = max(batch.cancelled, counts.cancelled)
    is_open = batch.state in Batch.OPEN
    dead = counts.dead + counts.dropped if is_open and counts.known else batch.dead
    rest = max(0, batch.total - succeeded - discarded - cancelled - dead)
    coalesced, lost = counts.coalesced, counts.lost
    if batch.state in (State.SUCCEEDED, State.ENDED):
        coalesced, lost = rest, 0
    elif batch.state == State.LOST:
        lost = rest - coalesced
    is_fixed = batch.state in (State.RUNNING, State.STUCK)
    return BatchStatus(
        state=cast(BatchState, str(batch.state)),
        total=batch.total,
        left=max(0, rest - coalesced - lost) if is_fixed else counts.left,
        succeeded=succeeded,
        discarded=discarded,
        cancelled=cancelled,
        coalesced=coalesced,
        dead=dead,
        lost=lost,
        then_job_id=batch.then_job_id,
    )
