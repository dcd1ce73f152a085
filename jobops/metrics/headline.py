"""The few numbers at the top of the overview. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobops.engine.records import Counters
from jobops.metrics.condition import LATE_S, LATE_URGENT_S, RETRY_LIMIT_OF_ALL, is_retrying
from jobops.metrics.rows import TenantRow, ended, retry_rate, total


@dataclass(frozen=True, slots=True)
class LaneAge:
    """The oldest waiting job of a lane, in seconds; None: nothing waits."""

    lane: str
    oldest_s: float | None
    depth: int


@dataclass(frozen=True, slots=True)
class Headline:
    """Sums over the rows. Rates are fractions, throughput is jobs ended a minute."""

    lanes: tuple[LaneAge, ...]
    worst: LaneAge | None
    late: bool
    starts: int
    retries: int
    retry_rate: float | None
    retrying: bool
    ended: int
    per_minute: float
    running: int
    waiting: int
    died: int
    lost: int


def headline(rows: Iterable[TenantRow], lanes: Sequence[str], window_s: float, urgent_lane: str = "") -> Headline:
    """The sums of these rows; ``window_s`` is how long their counters ran, in seconds."""
    found = list(rows)
    ages = tuple(_lane_age(found, index, lane) for index, lane in enumerate(lanes))
    counters = total(row.counters for row in found)
    finished = ended(counters)
    return Headline(
        lanes=ages,
        worst=max((age for age in ages if age.oldest_s is not None), key=lambda age: age.oldest_s or 0, default=None),
        late=any((age.oldest_s or 0) > (LATE_URGENT_S if age.lane == urgent_lane else LATE_S) for age in ages),
        starts=counters.starts,
        retries=counters.retries,
        retry_rate=retry_rate(counters),
        retrying=is_retrying(counters.starts, counters.retries, RETRY_LIMIT_OF_ALL),
        ended=finished,
        per_minute=finished / (window_s / 60) if window_s > 0 else 0.0,
        running=sum(row.running for row in found),
        waiting=sum(row.depth for row in found),
        died=counters.dead,
        lost=counters.lost,
    )


def _lane_age(rows: Sequence[TenantRow], index: int, lane: str) -> LaneAge:
    cells = [row.lanes[index] for row in rows]
    oldest = max((cell.oldest_s for cell in cells if cell.oldest_s is not None), default=None)
    return LaneAge(lane, oldest, sum(cell.depth for cell in cells))


def ended_by_minute(minutes: Sequence[Counters]) -> list[int]:
    """Jobs ended, for each minute: what a throughput chart draws."""
    return [ended(row) for row in minutes]


def retries_by_minute(minutes: Sequence[Counters]) -> list[float]:
    """Retry rate, for each minute; a minute without a start is 0."""
    return [retry_rate(row) or 0.0 for row in minutes]
