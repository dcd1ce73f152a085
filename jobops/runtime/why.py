"""Why a job is not running, or what became of it: the one answer that pages, commands and tests all render."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils import timezone
from redis.exceptions import RedisError

from jobops.context.models import OutboxEntry
from jobops.engine.errors import EngineUnavailable
from jobops.engine.jobs import view_of
from jobops.engine.records import JobView
from jobops.engine.why_facts import WhyFacts
from jobops.runtime.engine import get_engine
from jobops.runtime.job_texts import brief_error
from jobops.runtime.lookup import lookup, view_of_row
from jobops.runtime.why_ends import ended, replay_of, running
from jobops.runtime.why_estimate import estimate
from jobops.runtime.why_helps import helps_of
from jobops.runtime.why_limits import limits
from jobops.runtime.why_outbox import outbox
from jobops.runtime.why_pauses import pauses
from jobops.runtime.why_records import STRENGTH, Kind, Reason, Why, at
from jobops.runtime.why_turns import crew, is_living, turns

SILENT_S = 10.0
"""Due jobs are moved several times a second; nobody does it when it has not happened for so long."""


def why(job_id: str, *, tenant: str | None = None) -> Why | None:
    """Why this job is where it is, or None when nothing is kept of it, or when it is not this ``tenant``'s.

    Raises ``redis.RedisError`` only if Redis is away and the outbox does not have the job.
    """
    try:
        facts = get_engine().scripts.why(job_id)
    except RedisError:
        row = OutboxEntry.objects.filter(pk=job_id).first()
        if row is None:
            raise
        return _of_tenant(_from_row(row, None), tenant)
    except EngineUnavailable:
        return _damaged(job_id, tenant)
    if facts.job:
        return _of_tenant(_from_redis(job_id, facts), tenant)
    row = OutboxEntry.objects.filter(pk=job_id).first()
    if row is not None:
        return _of_tenant(_from_outbox(row), tenant)
    job = lookup(job_id)
    return _of_tenant(_answer(job, [*ended(job), *replay_of(job)]), tenant) if job is not None else None


def _damaged(job_id: str, tenant: str | None) -> Why | None:
    job = lookup(job_id)
    if job is None:
        return None
    text = "It cannot be told: Redis holds data of another form than ours; `manage.py doctor` finds out which."
    return _of_tenant(_answer(job, [Reason(Kind.UNKNOWN_STATE, text)]), tenant)


def _of_tenant(found: Why, tenant: str | None) -> Why | None:
    return found if tenant is None or found.job.tenant == tenant else None


def _from_outbox(row: OutboxEntry) -> Why:
    """Of a row, with what its job meets when it comes to Redis."""
    try:
        facts = get_engine().scripts.why(row.id, row.tenant, row.lane, row.job_type, row.resource)
        # It may have come there since.
        return _from_redis(row.id, facts) if facts.job else _from_row(row, facts)
    except RedisError:
        return _from_row(row, None)


def _from_row(row: OutboxEntry, facts: WhyFacts | None) -> Why:
    """``facts``: None while Redis cannot be reached."""
    job = view_of_row(row)
    if job.state != "outbox":
        return _answer(job, [*ended(job), *replay_of(job)])
    reasons = list(outbox(row, job, facts))
    if facts is not None:
        reasons += [*_blocks(facts, job), *limits(facts, job.id, job.tenant, job.lane)]
    reasons = _in_order(reasons)
    start, how = estimate(facts or WhyFacts(int(timezone.now().timestamp() * 1000), {}, None, ""), reasons, job.lane)
    return _answer(job, [*reasons, *replay_of(job)], start, how)


def _from_redis(job_id: str, facts: WhyFacts) -> Why:
    job = view_of(job_id, facts.job)
    if job.state == "started":
        return _answer(job, [*running(facts, job), *replay_of(job)])
    if job.state not in ("queued", "waiting", "scheduled") or facts.tenant is None:
        return _answer(job, [*ended(job), *replay_of(job)])
    reasons = _in_order([*_blocks(facts, job), *(_later(facts, job) if job.state == "scheduled" else _now(facts, job))])
    if not reasons:
        reasons = [Reason(Kind.NEXT, "Nothing holds it: a worker takes it in a moment.")]
    start, how = estimate(facts, reasons, job.lane)
    return _answer(job, [*reasons, *replay_of(job)], start, how)


def _blocks(facts: WhyFacts, job: JobView) -> Iterator[Reason]:
    """What keeps it from starting whenever its turn comes."""
    yield from pauses(facts, job.tenant, job.tenant_uid)
    policy = facts.tenant
    if policy is not None and (not policy.known or (policy.uid and job.tenant_uid and policy.uid != job.tenant_uid)):
        what = "was deleted" if facts.gone or policy.known else "is not known to Redis"
        yield Reason(Kind.TENANT_GONE, f"Its tenant {job.tenant} {what}.", name=job.tenant)
    yield from crew(facts, job.lane, job.job_type)


def _now(facts: WhyFacts, job: JobView) -> Iterator[Reason]:
    yield from limits(facts, job.id, job.tenant, job.lane)
    yield from turns(facts, job.tenant, job.lane)


def _later(facts: WhyFacts, job: JobView) -> Iterator[Reason]:
    due_ms = facts.due_ms
    if due_ms <= facts.now_ms and facts.now_ms - facts.promoted_ms > SILENT_S * 1000:
        nobody = "no scheduler and no worker" if not any(is_living(w) for w in facts.workers) else "nobody"
        text = f"It is due, and {nobody} moves due jobs to their queues."
        yield Reason(Kind.NO_MOVER, text, since=at(due_ms))
        return
    last = job.history[-1] if job.history else None
    told = brief_error(job, last.error_class, last.error) if last is not None else ""
    error = f": {told}" if told else ""
    if last is not None and last.outcome == "postponed":
        yield Reason(Kind.POSTPONED, f"It was told to come later, which counts no attempt{error}.", until=at(due_ms))
    elif job.attempts:
        text = f"It backs off before attempt {job.attempts + 1} of {job.max_attempts}{error}."
        yield Reason(Kind.BACKING_OFF, text, until=at(due_ms), count=job.attempts + 1)
    else:
        yield Reason(Kind.DELAYED, "It was asked to start later.", until=at(due_ms))


def _in_order(reasons: Sequence[Reason]) -> list[Reason]:
    return sorted(reasons, key=lambda reason: STRENGTH[reason.kind])


def _answer(job: JobView, reasons: Sequence[Reason], start: datetime | None = None, how: str = "") -> Why:
    return Why(
        id=job.id,
        state=job.state,
        headline=reasons[0].text,
        reasons=tuple(reasons),
        expected_start=start,
        estimate=how,
        helps=helps_of(reasons, job),
        job=job,
        read_at=timezone.now(),
    )
