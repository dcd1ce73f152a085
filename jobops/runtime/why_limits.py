"""Which caps, concurrencies, rates and brakes hold a job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.engine.rates import Rate
from jobops.engine.why_facts import Gate, Holder, Limits, WhyFacts
from jobops.runtime.why_records import Kind, Link, Reason, at


def limits(facts: WhyFacts, job_id: str, slug: str, lane: str) -> Iterator[Reason]:
    """Every limit that the job would meet if it were its turn at this moment."""
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
    link = None if is_type else Link("resource", name)
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
        by = f", set by {whose}" if gate.brake_by else ""
        yield Reason(
            Kind.BRAKED, f"{what} is braked{by}: it was told to come later.", until=at(gate.brake_until_ms),
            by=gate.brake_by, name=name, link=Link("job", gate.brake_by) if gate.brake_by else link,
        )  # fmt: skip
    if gate.limits.open_at_ms:
        kind = Kind.TYPE_RATE if is_type else Kind.RESOURCE_RATE
        text = f"{what} has used up its rate of {_rate(gate.limits)} starts."
        yield Reason(kind, text, until=at(gate.limits.open_at_ms), name=name, link=link)


def _held(kind: Kind, text: str, name: str, count: int, holders: Sequence[Holder], link: Link | None) -> Reason:
    return Reason(kind, text, name=name, count=count, holders=holders, more=max(0, count - len(holders)), link=link)


def _of(count: int, limit: int) -> str:
    # After a lowering there may be more than the limit for a while.
    return f"{count} of {limit}" if count == limit else f"{count}, and {limit} may,"


def _rate(limits: Limits) -> str:
    return str(Rate(limits.rate or 0, limits.rate_per_ms))
