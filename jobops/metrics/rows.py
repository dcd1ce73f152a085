"""One row a tenant: what waits, what runs, what it used of the workers, and how that compares to its due.

Pure: it puts together what the engine counted and what the caller knows of the tenants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobops.engine.records import Counters, QueueView
from jobops.metrics.condition import Condition, Signs, condition_of

WINDOW_MINUTES = 5
"""Counters on a page cover this many minutes."""


@dataclass(frozen=True, slots=True)
class TenantFacts:
    """What is known of a tenant outside the engine. ``cap`` None: no limit."""

    slug: str
    name: str = ""
    weight: float = 1.0
    cap: int | None = None
    paused: bool = False
    intake_closed: bool = False
    dead_open: int = 0
    dead_overdue: int = 0


@dataclass(frozen=True, slots=True)
class LaneCell:
    """A tenant's queue in one lane. ``oldest_s`` None: nothing waits there."""

    lane: str
    depth: int = 0
    oldest_s: float | None = None
    running: int = 0


@dataclass(frozen=True, slots=True)
class TenantRow:
    """A tenant now and over the last minutes: ``per_minute`` jobs ended.

    Shares and rates are fractions; None where there is nothing to divide.
    """

    facts: TenantFacts
    lanes: tuple[LaneCell, ...]
    counters: Counters
    per_minute: float
    share: float | None
    entitled: float | None
    condition: Condition

    @property
    def slug(self) -> str:
        return self.facts.slug

    @property
    def depth(self) -> int:
        """Jobs waiting, over all lanes."""
        return sum(cell.depth for cell in self.lanes)

    @property
    def running(self) -> int:
        """Jobs in flight, over all lanes."""
        return sum(cell.running for cell in self.lanes)

    @property
    def oldest_s(self) -> float | None:
        """How long the oldest waiting job has waited, over all lanes."""
        return max((cell.oldest_s for cell in self.lanes if cell.oldest_s is not None), default=None)

    @property
    def retry_rate(self) -> float | None:
        """Retries by starts."""
        return retry_rate(self.counters)

    @property
    def finished(self) -> int:
        """Jobs that ended in the window, well or not."""
        return ended(self.counters)


def ended(counters: Counters) -> int:
    """Jobs that ended: succeeded, dead or discarded."""
    return counters.succeeded + counters.dead + counters.discarded


def retry_rate(counters: Counters) -> float | None:
    """The part of starts that ended in a retry; None without a start."""
    return min(1.0, counters.retries / counters.starts) if counters.starts else None


def total(counters: Iterable[Counters]) -> Counters:
    """The sum of many counters."""
    rows = list(counters)
    return Counters(
        starts=sum(row.starts for row in rows),
        retries=sum(row.retries for row in rows),
        succeeded=sum(row.succeeded for row in rows),
        dead=sum(row.dead for row in rows),
        discarded=sum(row.discarded for row in rows),
        lost=sum(row.lost for row in rows),
        worker_ms=sum(row.worker_ms for row in rows),
    )


def tenant_rows(
    tenants: Sequence[TenantFacts],
    queues: Iterable[QueueView],
    counters: Mapping[str, Counters],
    lanes: Sequence[str],
    *,
    window_s: float = WINDOW_MINUTES * 60,
    urgent_lane: str = "",
) -> list[TenantRow]:
    """A row for each tenant, in the order given; ``counters`` ran for ``window_s`` seconds.

    Entitlement is the tenant's weight among those that had work in the window: that waits, runs, or used a worker.
    A tenant without work is entitled to nothing just now, and its share is not a fault.
    """
    cells: dict[str, dict[str, LaneCell]] = {}
    for queue in queues:
        cell = LaneCell(queue.lane, queue.depth, queue.oldest_age_s, queue.running)
        cells.setdefault(queue.tenant, {})[queue.lane] = cell
    used = sum(row.worker_ms for row in counters.values())
    contenders = {t.slug: t.weight for t in tenants if _has_work(cells.get(t.slug, {}), counters.get(t.slug))}
    weights = sum(contenders.values())
    rows = []
    for facts in tenants:
        mine = tuple(cells.get(facts.slug, {}).get(lane, LaneCell(lane)) for lane in lanes)
        own = counters.get(facts.slug, Counters())
        rows.append(
            TenantRow(
                facts=facts,
                lanes=mine,
                counters=own,
                per_minute=ended(own) / (window_s / 60) if window_s > 0 else 0.0,
                share=own.worker_ms / used if used else None,
                entitled=contenders[facts.slug] / weights if facts.slug in contenders and weights else None,
                condition=condition_of(_signs(facts, mine, own, urgent_lane)),
            )
        )
    return rows


def _has_work(cells: Mapping[str, LaneCell], counters: Counters | None) -> bool:
    return bool(counters and counters.worker_ms) or any(cell.depth or cell.running for cell in cells.values())


def _signs(facts: TenantFacts, cells: Sequence[LaneCell], counters: Counters, urgent_lane: str) -> Signs:
    return Signs(
        paused=facts.paused,
        intake_closed=facts.intake_closed,
        overdue=facts.dead_overdue,
        depth=sum(cell.depth for cell in cells),
        running=sum(cell.running for cell in cells),
        cap=facts.cap,
        ended=ended(counters),
        oldest_urgent_s=max((c.oldest_s or 0.0 for c in cells if c.lane == urgent_lane), default=0.0),
        oldest_s=max((c.oldest_s or 0.0 for c in cells if c.lane != urgent_lane), default=0.0),
        starts=counters.starts,
        retries=counters.retries,
    )


def worst_first(rows: Iterable[TenantRow]) -> list[TenantRow]:
    """Overdue dead letters first, then the condition's rank, then who waits longest. Ties by name: rows do not jump."""
    return sorted(
        rows,
        key=lambda row: (
            row.facts.dead_overdue == 0,
            row.condition.rank,
            -int(row.oldest_s or 0),
            -row.depth,
            row.slug,
        ),
    )
