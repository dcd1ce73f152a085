"""When a job that waits may start: measured where something was measured, and said to be unknown where not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from jobops.engine.why_facts import MOST_AHEAD, WhyFacts
from jobops.runtime.why_records import OPEN_ENDED, Kind, Reason, at

LEAST_MEASURED_S = 10.0
_TIMED = frozenset({Kind.TENANT_RATE, Kind.RESOURCE_RATE, Kind.TYPE_RATE, Kind.BRAKED})
_LATER = frozenset({Kind.DELAYED, Kind.BACKING_OFF, Kind.POSTPONED, Kind.OUTBOX_HELD, Kind.OUTBOX_REFUSED})
_UNMEASURED = frozenset({Kind.BEHIND_AT_GATE, Kind.RESOURCE_FULL, Kind.TYPE_FULL})


def estimate(facts: WhyFacts, reasons: Sequence[Reason], lane: str) -> tuple[datetime | None, str]:
    """The instant or None, and how it was estimated or why it cannot be."""
    kinds = {reason.kind for reason in reasons}
    if kinds & OPEN_ENDED:
        return None, "unknown: nobody can say when that is over"
    latest = max((reason.until for reason in reasons if reason.until), default=None)
    if kinds & _LATER:
        return latest, "when it is due; it then takes its turn"
    if Kind.NEXT in kinds:
        return at(facts.now_ms), "a worker is free"
    if Kind.OUTBOX in kinds:
        return None, "unknown: it is not in its queue yet"
    if kinds & _UNMEASURED:
        return None, "unknown: how fast the limit lets jobs through is not measured"
    if kinds <= _TIMED and latest is not None:
        return latest, "when the limit lets the next one start"
    return _by_rate(facts, latest, lane, kinds)


def _by_rate(facts: WhyFacts, latest: datetime | None, lane: str, kinds: set[Kind]) -> tuple[datetime | None, str]:
    per_s, minutes = measured(facts)
    if not per_s:
        return None, "unknown: none of its tenant’s jobs started in the last 10 minutes"
    if facts.position is None:
        return None, f"unknown: over {MOST_AHEAD:,} jobs are before it" if Kind.BEHIND in kinds else "unknown"
    others = sum(depth for name, depth in (facts.depths or {}).items() if name != lane)
    wait_s = (facts.position + others + 1) / per_s
    start = at(facts.now_ms + wait_s * 1000)
    if start is not None and latest is not None:
        start = max(start, latest)
    per_minute = per_s * 60
    shown = f"{per_minute:,.0f}" if per_minute >= 10 else f"{per_minute:.1g}"
    counting = f", counting the {others:,} in its other lanes" if others else ""
    return start, f"from its tenant’s {shown} starts a minute over the last {minutes} min{counting}"


def measured(facts: WhyFacts) -> tuple[float, int]:
    """Starts a second of the tenant since its first start of the last ten minutes, and over how many minutes."""
    first = max((back for back, count in enumerate(facts.starts) if count), default=None)
    if first is None:
        return 0.0, 0
    elapsed = max(LEAST_MEASURED_S, first * 60 + facts.now_ms / 1000 % 60)
    return sum(facts.starts) / elapsed, max(1, round(elapsed / 60))
