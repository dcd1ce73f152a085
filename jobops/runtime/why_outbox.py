"""Jobs that are in the outbox and not yet in Redis: what keeps them there, by what is so now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.records import JobView
from jobops.engine.why_facts import WhyFacts
from jobops.runtime.job_texts import brief_error
from jobops.runtime.why_records import Kind, Link, Reason

_WAITS = "It waits in the outbox"
_WAS_HELD = {
    "DepthExceeded": "it was at its depth limit",
    "IntakeClosed": "its intake was closed",
}


def outbox(row: OutboxEntry, job: JobView, facts: WhyFacts | None) -> Iterator[Reason]:
    """What keeps this row, which is this job, where it is. ``facts``: what it will meet in Redis; None: Redis cannot be
    reached at this moment."""
    told = brief_error(job, job.error_class, job.error)
    if row.state == OutboxEntry.State.PARKED:
        error = f": {told}" if told else ""
        text = f"It is parked in the outbox, {row.get_parked_as_display().lower()}{error}."
        yield Reason(Kind.OUTBOX_PARKED, text, since=row.created_at, name=row.parked_as)
        return
    if facts is None:
        text = "Redis cannot be reached; the job is safe in the outbox and goes on when Redis is back."
        yield Reason(Kind.REDIS_AWAY, text, since=row.created_at)
    hold = OutboxHold.objects.filter(tenant=row.tenant).first()
    if hold is not None:
        yield _held(hold, facts)
    elif row.attempts:
        times = "once" if row.attempts == 1 else f"{row.attempts} times, lately"
        text = f"{_WAITS}: Redis refused it {times}: {told}."
        yield Reason(Kind.OUTBOX_REFUSED, text, since=row.created_at, until=_ahead(row.next_try_at), count=row.attempts)
    elif facts is not None:
        yield Reason(Kind.OUTBOX, "It is in the outbox, on its way to its queue.", since=row.created_at)
    due = datetime.fromtimestamp(row.due_at_ms / 1000, UTC) if row.due_at_ms else None
    if due is not None and _ahead(due):
        yield Reason(Kind.DELAYED, "It was asked to start later.", until=due)


def _held(hold: OutboxHold, facts: WhyFacts | None) -> Reason:
    """``count``: how many of its tenant wait, where that is what keeps it out; ``name``: empty where nothing does."""
    slug = hold.tenant
    tenant = facts.tenant if facts is not None else None
    count, name = None, hold.reason
    if facts is None or tenant is None or not tenant.known:
        was = _WAS_HELD.get(hold.reason, f"it answered {hold.reason}")
        why = f"Redis took no jobs of its tenant {slug} when that was tried last, as {was}"
    elif tenant.intake_closed:
        why, name = f"the intake of its tenant {slug} is closed", "IntakeClosed"
    elif tenant.depth_limit is not None and facts.depth >= tenant.depth_limit:
        count, name = facts.depth, "DepthExceeded"
        why = f"its tenant {slug} is at its depth limit of {tenant.depth_limit:,} (waiting: {facts.depth:,})"
    else:
        was, name = _WAS_HELD.get(hold.reason, f"Redis answered {hold.reason}"), ""
        why = f"when Redis was last asked to take jobs of its tenant {slug}, {was}; now there is room, and it comes in"
    link = Link("tenant", slug)
    return Reason(
        Kind.OUTBOX_HELD, f"{_WAITS}: {why}.", since=hold.since, until=_ahead(hold.until), name=name, count=count,
        link=link,
    )  # fmt: skip


def _ahead(moment: datetime) -> datetime | None:
    """The instant, while it is still to come: one that is over says nothing of the next try, which is any moment."""
    return moment if moment > timezone.now() else None
