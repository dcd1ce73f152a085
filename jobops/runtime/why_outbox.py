"""Jobs that are in the outbox and not yet in Redis."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.records import JobView
from jobops.runtime.job_texts import brief_error
from jobops.runtime.why_records import Kind, Link, Reason

_HELD = {
    "DepthExceeded": "it is at its depth limit",
    "IntakeClosed": "its intake is closed",
}


def outbox(row: OutboxEntry, job: JobView, *, away: bool) -> Iterator[Reason]:
    """What keeps this row, which is this job, where it is. ``away``: Redis cannot be reached at this moment."""
    told = brief_error(job, job.error_class, job.error)
    if row.state == OutboxEntry.State.PARKED:
        error = f": {told}" if told else ""
        text = f"It is parked in the outbox, {row.get_parked_as_display().lower()}{error}."
        yield Reason(Kind.OUTBOX_PARKED, text, since=row.created_at, name=row.parked_as)
        return
    if away:
        text = "Redis cannot be reached; the job is safe in the outbox and goes on when Redis is back."
        yield Reason(Kind.REDIS_AWAY, text, since=row.created_at)
    hold = OutboxHold.objects.filter(tenant=row.tenant).first()
    if hold is not None:
        why = _HELD.get(hold.reason, f"it answers {hold.reason}")
        text = f"It waits in the outbox: Redis takes no jobs of its tenant {row.tenant}, as {why}."
        link = Link("tenant", row.tenant)
        yield Reason(Kind.OUTBOX_HELD, text, since=hold.since, until=hold.until, name=hold.reason, link=link)
    elif row.attempts:
        times = "once" if row.attempts == 1 else f"{row.attempts} times"
        text = f"It waits in the outbox: Redis refused it {times}: {told}."
        yield Reason(Kind.OUTBOX_REFUSED, text, since=row.created_at, until=row.next_try_at, count=row.attempts)
    elif not away:
        yield Reason(Kind.OUTBOX, "It is in the outbox, on its way to its queue.", since=row.created_at)
    due = datetime.fromtimestamp(row.due_at_ms / 1000, UTC) if row.due_at_ms else None
    if due is not None and due > timezone.now():
        yield Reason(Kind.DELAYED, "It was asked to start later.", until=due)
