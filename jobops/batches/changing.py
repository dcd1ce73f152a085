"""How a batch moves on: each change of its state is a compare-and-set, so that of two who see the same end one acts."""

from __future__ import annotations

import logging
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobops.audit import recording
from jobops.batches.models import Batch
from jobops.batches.then import then_job
from jobops.batches.verdict import verdict
from jobops.context import outbox
from jobops.contracts.batch_port import NewBatch
from jobops.engine.batch_commands import BatchCounts

log = logging.getLogger("jobops.batches")

State = Batch.State
OVER = (State.SUCCEEDED, State.ENDED, State.LOST)


def batch_open(new: NewBatch, tenant_uid: str) -> Batch:
    """Keep a batch that is being filled, in the transaction that is open."""
    then, now = new.then, timezone.now()
    return Batch.objects.create(
        id=new.id,
        name=new.name,
        tenant=new.tenant,
        tenant_uid=tenant_uid,
        correlation_id=new.correlation_id,
        then_job=then.job_type if then else "",
        then_data=then.data if then else None,
        then_lane=then.lane if then else "",
        created_at=now,
        counted_at=now,
    )


def batch_close(batch_id: str, total: int) -> bool:
    """It has all its members. False when it is not being filled any more: it was cancelled."""
    rows = Batch.objects.filter(pk=batch_id)
    if rows.filter(state=State.FILLING).update(state=State.RUNNING, total=total):
        return True
    rows.filter(state=State.CANCELLED, total=0).update(total=total)
    return False


def batch_to_cancelled(batch_id: str, total: int | None = None) -> Batch | None:
    """Its ``then`` will not run any more. Answers the batch, or None when it is over already.

    Ending the members is another matter; ``ended_at`` is set when none is left.
    """
    fields: dict[str, Any] = {"state": State.CANCELLED, "counted_at": timezone.now()}
    if total is not None:
        fields["total"] = total
    if not Batch.objects.filter(pk=batch_id, state__in=Batch.OPEN).update(**fields):
        return None
    return Batch.objects.get(pk=batch_id)


def batch_note(
    batch_id: str, counts: BatchCounts, push: outbox.Push, *, parked: int = 0, missing: int = 0
) -> Batch | None:
    """Take down how its members stand, and move it on if that ends it; answers it as it is then, None without one.

    The ``then`` job is a row of the outbox in the same transaction as the state that asks for it: both happen, or
    neither, and of two that come here at once only one changes the state. ``push`` is called after the commit.
    """
    with transaction.atomic():
        batch = Batch.objects.select_for_update().filter(pk=batch_id).first()
        if batch is None:
            return None
        before, fields = batch.state, _counted(batch, counts)
        state = verdict(batch, counts, parked=parked, missing=missing)
        if state in OVER and before not in OVER:
            fields["ended_at"] = timezone.now()
        then = then_job(batch) if state == State.SUCCEEDED and before != State.SUCCEEDED else None
        if then is not None:
            fields["then_job_id"] = then.id
        changed = Batch.objects.filter(pk=batch_id, state=before).update(state=state, **fields)
        if changed and then is not None:
            outbox.write_and_push_on_commit([then], push)
        if changed and state != before:
            log.info("batch %s of %s is %s", batch_id, batch.tenant, state)
    batch.refresh_from_db()
    return batch


def cancelling(batch: Batch, reason: str) -> recording.Change:
    """The row of the audit for a batch that was cancelled."""
    uid = batch.tenant_uid
    tenant_id = int(uid) if uid.isascii() and uid.isdigit() else None
    done = {"state": str(batch.state), "name": batch.name}
    return recording.Change("batch.cancel", "batch", batch.pk, tenant_id, batch.tenant, after=done, reason=reason)


def batch_cleared(batch_id: str) -> None:
    """No member of a cancelled batch is left."""
    Batch.objects.filter(pk=batch_id, state=State.CANCELLED, ended_at=None).update(ended_at=timezone.now())


def _counted(batch: Batch, counts: BatchCounts) -> dict[str, Any]:
    # What has ended stays so, also when a flushed Redis begins to count anew.
    fields: dict[str, Any] = {
        name: max(getattr(batch, name), getattr(counts, name)) for name in ("succeeded", "discarded", "cancelled")
    }
    if batch.state not in OVER and counts.known:
        fields["dead"] = counts.dead + counts.dropped
    return fields | {"counted_at": timezone.now()}
