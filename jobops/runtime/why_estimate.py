"""When a job that waits may start: reckoned from rates and from what was measured, and said to be unknown where nothing
was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from jobops.engine.why_facts import MOST_AHEAD, Gate, WhyFacts
from jobops.runtime.why_places import Forecast, by_places, by_rate
from jobops.runtime.why_records import OPEN_ENDED, Kind, Reason, at

LEAST_MEASURED_S = 10.0
LEAST_STARTS = 10
"""So few starts say nothing against what the limits themselves tell."""
MINUTE_S = 60
_LATER = frozenset({Kind.DELAYED, Kind.BACKING_OFF, Kind.POSTPONED})
_OUTBOX = frozenset({Kind.OUTBOX_HELD, Kind.OUTBOX_REFUSED, Kind.OUTBOX})
_AT_GATE = frozenset({Kind.RESOURCE_FULL, Kind.TYPE_FULL, Kind.BRAKED, Kind.RESOURCE_RATE, Kind.TYPE_RATE})


def estimate(facts: WhyFacts, reasons: Sequence[Reason], lane: str) -> tuple[datetime | None, str]:
    """The instant or None, and how it was estimated or why it cannot be."""
    kinds = {reason.kind for reason in reasons}
    if kinds & OPEN_ENDED:
        return None, "unknown: nobody can say when that is over"
    if kinds & (_OUTBOX - {Kind.OUTBOX}) or (kinds & _OUTBOX and Kind.DELAYED not in kinds):
        return None, "unknown: it is not in its queue yet, where it then takes its turn"
    if kinds & _LATER:
        return max(each.until for each in reasons if each.until), "when it is due; it then takes its turn"
    if Kind.NEXT in kinds:
        return at(facts.now_ms), "a worker is free"
    forecasts, starts = list(_forecasts(facts, reasons, lane, kinds)), _by_starts(facts, lane, kinds)
    is_measured = starts.at_ms is not None and sum(facts.starts) >= LEAST_STARTS
    if not forecasts or (is_measured and facts.position):
        forecasts.append(starts)  # behind others it may take longer than the limits alone would have it
    unknown = next((each for each in forecasts if each.at_ms is None), None)
    last = unknown or max(forecasts, key=lambda each: each.at_ms or 0)
    return (at(last.at_ms) if last.at_ms is not None else None), last.how


def _forecasts(facts: WhyFacts, reasons: Sequence[Reason], lane: str, kinds: set[Kind]) -> Iterator[Forecast]:
    """One for each limit that holds it."""
    tenant, before = facts.tenant, _before(facts, lane)
    if tenant is not None and kinds & {Kind.TENANT_CAP, Kind.LANE_CAP, Kind.TENANT_RATE}:
        if before is None:
            yield Forecast(None, f"unknown: over {MOST_AHEAD:,} jobs are before it")
            return
        if Kind.TENANT_CAP in kinds:
            yield by_places(
                facts.now_ms, running=facts.inflight, allowed=tenant.cap or 0, holders=facts.holders, before=before,
                usual_ms=facts.usual_ms,
            )  # fmt: skip
        if Kind.LANE_CAP in kinds:
            yield by_places(
                facts.now_ms, running=facts.lane_inflight, allowed=tenant.lane_cap or 0, holders=facts.lane_holders,
                before=facts.position or 0, usual_ms=facts.usual_ms,
            )  # fmt: skip
        if Kind.TENANT_RATE in kinds:
            yield by_rate(facts.now_ms, tenant.limits, before)
    held_at = {reason.name for reason in reasons if reason.kind in _AT_GATE}
    for gate in facts.gates:
        if gate.rank is not None or (gate.job_type or gate.name) in held_at:
            yield from _at_gate(facts, gate)


def _at_gate(facts: WhyFacts, gate: Gate) -> Iterator[Forecast]:
    limits, base = gate.limits, max(facts.now_ms, gate.brake_until_ms)
    if gate.others is None:
        yield Forecast(None, "unknown: too many queues take turns there")
        return
    before = gate.own + gate.others
    yield Forecast(base, "when the brake is off" if base > facts.now_ms else "as there is room")
    if limits.rate is not None:
        gained = (base - facts.now_ms) * limits.rate / (limits.rate_per_ms or 1)
        yield by_rate(base, replace(limits, tokens=min(float(limits.rate), limits.tokens + gained)), before)
    if limits.concurrency is not None:
        yield by_places(
            facts.now_ms, running=gate.inflight, allowed=limits.concurrency, holders=gate.holders, before=before,
            usual_ms=facts.usual_ms, opens_ms=base,
        )  # fmt: skip


def _before(facts: WhyFacts, lane: str) -> int | None:
    """Jobs of its tenant that may start before it; None: too many to be counted."""
    if facts.position is None:
        return 0 if any(gate.rank is not None for gate in facts.gates) else None
    return facts.position + _others(facts, lane)


def _others(facts: WhyFacts, lane: str) -> int:
    return sum(depth for name, depth in (facts.depths or {}).items() if name != lane)


def _by_starts(facts: WhyFacts, lane: str, kinds: set[Kind]) -> Forecast:
    """From how often jobs of its tenant were started lately, counted from the last of those starts."""
    before = _before(facts, lane)
    if before is None:
        return Forecast(None, f"unknown: over {MOST_AHEAD:,} jobs are before it" if Kind.BEHIND in kinds else "unknown")
    per_s, last_ms, minutes = measured(facts)
    if not per_s:
        return Forecast(None, "unknown: none of its tenant’s jobs started in the last 10 minutes")
    per_minute = per_s * MINUTE_S
    shown = f"{per_minute:,.0f}" if per_minute >= 10 else f"{per_minute:.1g}"
    start = last_ms + (before + 1) / per_s * 1000
    if start < facts.now_ms:
        silent_s = round((facts.now_ms - last_ms) / 1000)
        return Forecast(None, f"unknown: its tenant’s jobs started at {shown} a minute, and none for {silent_s} s")
    others = _others(facts, lane)
    counting = f", counting the {others:,} in its other lanes" if others else ""
    return Forecast(start, f"from its tenant’s {shown} starts a minute over {minutes} min{counting}")


def measured(facts: WhyFacts) -> tuple[float, float, int]:
    """Starts a second of the tenant, from its first start of the last ten minutes to its last one; when (ms) that last
    one was at the latest; and over how many minutes."""
    counted = [back for back, count in enumerate(facts.starts) if count]
    if not counted:
        return 0.0, 0.0, 0
    minute_ms = MINUTE_S * 1000
    this_minute = facts.now_ms // minute_ms * minute_ms
    first_ms = this_minute - max(counted) * minute_ms
    last_ms = float(min(facts.now_ms, this_minute - (min(counted) - 1) * minute_ms))
    if last_ms == facts.now_ms:  # within this minute: those that still run tell when, and stand still
        last_ms = float(max((held.since_ms for held in facts.holders if held.since_ms > this_minute), default=last_ms))
    elapsed_s = max(LEAST_MEASURED_S, (last_ms - first_ms) / 1000)
    return sum(facts.starts) / elapsed_s, last_ms, max(1, round(elapsed_s / MINUTE_S))
