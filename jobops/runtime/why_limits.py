"""Which caps, concurrencies, rates and brakes hold a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.engine.rates import Rate
from jobops.engine.why_facts import Gate, Holder, Limits, WhyFacts
from jobops.runtime.brakes import brake_of
from jobops.runtime.why_records import MOST_HOLDERS, Kind, Link, Reason, at


def limits(facts: WhyFacts, job_id: str, slug: str, lane: str) -> Iterator[Reason]:
    """Every limit that the job would meet if it were its turn at this moment. Raises ``redis.RedisError``."""
    tenant = facts.tenant
    if tenant is None:
        return
    if tenant.cap is not None and facts.inflight >= tenant.cap:
        text = f"Its tenant {slug} is at its cap: {_of(facts.inflight, tenant.cap)} of its jobs are running."
        yield _held(Kind.TENANT_CAP, text, slug, facts.inflight, facts.holders, Link("tenant", slug))
    if tenant.lane_cap is not None and facts.lane_inflight >= tenant.lane_cap:
        count = _of(facts.lane_inflight, tenant.lane_cap)
        text = f"Its tenant {slug} is at its cap for the lane {lane}: {count} of its jobs are running there."
        yield _held(Kind.LANE_CAP, text, lane, facts.lane_inflight, facts.lane_holders, Link("tenant", slug))
    for gate in facts.gates:
        yield from _at_gate(gate, facts.now_ms, job_id)
    if tenant.limits.open_at_ms:
        text = f"Its tenant {slug} has used up its rate of {_rate(tenant.limits)} starts."
        yield Reason(Kind.TENANT_RATE, text, until=at(tenant.limits.open_at_ms), name=slug, link=Link("tenant", slug))


def _at_gate(gate: Gate, now_ms: int, job_id: str) -> Iterator[Reason]:
    is_type = bool(gate.job_type)
    name = gate.job_type or gate.name
    what = f"The job type {name}" if is_type else f"The resource {name}"
    link = Link("type" if is_type else "resource", name)
    if not gate.known and not is_type:  # a type without limits of its own lets everybody through
        text = f"Redis knows no limits of the resource {name} yet; workers and the scheduler tell them."
        yield Reason(Kind.RESOURCE_UNKNOWN, text, name=name, link=link)
    allowed = gate.limits.concurrency
    if allowed is not None and gate.inflight >= allowed:
        whose = "of its jobs" if is_type else "jobs that need it"
        text = f"{what} is full: {_of(gate.inflight, allowed)} {whose} are running."
        kind = Kind.TYPE_FULL if is_type else Kind.RESOURCE_FULL
        yield _held(kind, text, name, gate.inflight, gate.holders, link)
    if gate.brake_until_ms > now_ms:
        whose = "this job" if gate.brake_by == job_id else f"job {gate.brake_by}"
        by = f", put on by {whose}" if gate.brake_by else ""
        said = brake_of(gate.brake_by, gate.brake_error).said
        text = f"{what} has its brake on{by}: {said.rstrip('.') if said else 'it was told to come later'}."
        till = at(gate.brake_until_ms)
        yield Reason(Kind.BRAKED, text, until=till, by=gate.brake_by, note=said, name=name, link=link)
    if gate.limits.open_at_ms:
        kind = Kind.TYPE_RATE if is_type else Kind.RESOURCE_RATE
        text = f"{what} has used up its rate of {_rate(gate.limits)} starts."
        yield Reason(kind, text, until=at(gate.limits.open_at_ms), name=name, link=link)


def _held(kind: Kind, text: str, name: str, count: int, holders: Sequence[Holder], link: Link) -> Reason:
    named = holders[:MOST_HOLDERS]
    return Reason(kind, text, name=name, count=count, holders=named, more=max(0, count - len(named)), link=link)


def _of(count: int, limit: int) -> str:
    # After a lowering there may be more than the limit for a while.
    return f"{count} of {limit}" if count == limit else f"{count}, and {limit} may,"


def _rate(limits: Limits) -> str:
    return str(Rate(limits.rate or 0, limits.rate_per_ms))
