"""When a place comes free: places at a cap or a gate that running jobs hold, and how long such jobs usually run. Pure.

An estimate rests on instants that stand still (when the holders started, plus their usual run time), never on the
moment at which somebody looks: otherwise it would move away from who looks again. Once all holders have run longer than
usual, nothing measured tells when they end, and that is said.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobops.contracts.durations import show
from jobops.engine.rates import Rate
from jobops.engine.why_facts import Holder, Limits
from jobops.runtime.why_records import at

MOST_TURNS = 20_000
"""So many places are given one by one; beyond them evenly."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """``at_ms``: when it may start, as far as this limit goes; None: it cannot be known. ``how``: from what, or why."""

    at_ms: float | None
    how: str


def by_places(
    now_ms: float,
    *,
    running: int,
    allowed: int,
    holders: Sequence[Holder],
    before: int,
    usual_ms: float | None,
    opens_ms: float = 0,
) -> Forecast:
    """Of the job that has so many ``before`` it for ``allowed`` places, which ``running`` jobs hold.

    ``holders``: those of them that are known; ``usual_ms``: how long the job's own type runs, for those before it;
    ``opens_ms``: nothing starts before.
    """
    if allowed <= 0:
        return Forecast(None, "unknown: as long as the limit is 0 nothing starts")
    free = max(0, allowed - running)
    if free > before:
        return Forecast(max(now_ms, opens_ms), "as there is room")
    ends = [held.since_ms + held.usual_ms for held in holders if held.usual_ms and held.since_ms]
    if len(ends) < len(holders) or (not holders and not free):
        return Forecast(None, "unknown: how long such jobs run was not measured yet")
    on_time = [end for end in ends if end > now_ms]
    if not on_time and not free:
        return Forecast(None, _late(holders))
    usual = usual_ms or _mean([held.usual_ms for held in holders])
    if before and usual is None:
        return Forecast(None, "unknown: how long the jobs before it run was not measured yet")
    # Who runs longer than usual is taken to end with the last of the others.
    places = [end if end > now_ms else max(on_time, default=math.inf) for end in ends] + [now_ms] * free
    over = max(0, running - allowed)  # after a lowering so many places are not given again
    scale = len(places) / running if running > len(places) else 1.0  # more hold it than are known
    start = _turn([max(place, opens_ms) for place in places], round(over * scale), round(before * scale), usual or 0.0)
    return Forecast(start, _from_runs(usual_ms, holders, before))


def _turn(places: list[float], over: int, before: int, usual_ms: float) -> float:
    heapq.heapify(places)
    for _ in range(min(over, len(places) - 1)):
        heapq.heappop(places)
    for _ in range(min(before, MOST_TURNS)):
        heapq.heapreplace(places, places[0] + usual_ms)
    return places[0] + max(0, before - MOST_TURNS) * usual_ms / len(places)


def by_rate(now_ms: float, limits: Limits, before: int) -> Forecast:
    """Of the job that has so many starts before its own at this rate."""
    rate = Rate(limits.rate or 1, limits.rate_per_ms or 1)
    lacking = max(0.0, before + 1 - limits.tokens)
    after = f" and the {before:,} start{'' if before == 1 else 's'} before its own" if before else ""
    return Forecast(math.ceil(now_ms + lacking * rate.per_ms / rate.count), f"from the rate of {rate}{after}")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value]
    return sum(known) / len(known) if known else None


def _late(holders: Sequence[Holder]) -> str:
    usual = show_ms(max(held.usual_ms or 0 for held in holders))
    who = "the job that holds it has" if len(holders) == 1 else "the jobs that hold it have"
    ends = [held.since_ms + held.timeout_ms for held in holders if held.timeout_ms]
    last = at(min(ends)) if ends and len(ends) == len(holders) else None
    # A sentence for staff, who read it in UTC beside the other instants of the command.
    first = "it" if len(holders) == 1 else "the first of them"
    times_out = f"; {first} times out at {last:%H:%M:%S} UTC at the latest" if last else ""
    return f"unknown: {who} run longer than usual ({usual}){times_out}"


def _from_runs(usual_ms: float | None, holders: Sequence[Holder], before: int) -> str:
    usual = _mean([held.usual_ms for held in holders]) or usual_ms
    runs = f"from the usual run time of those that hold it ({show_ms(usual)})" if usual else "as there is room"
    return f"{runs} and the {before:,} before it" if before else runs


def show_ms(span_ms: float) -> str:
    """A span as people write it, to two digits or so: ``850ms``, ``2.4s``, ``1m30s``."""
    if span_ms < 1000:
        return f"{max(1, round(span_ms))}ms"
    if span_ms < 60_000:
        return f"{span_ms / 1000:.1f}s"
    return show(timedelta(seconds=round(span_ms / 1000)))
