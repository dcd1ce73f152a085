"""The overview: headline numbers and a bounded number of rows, of what the person may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from jobops.engine.records import Counters
from jobops.limits.reading import Limits
from jobops.metrics.condition import LATE_S, LATE_URGENT_S, Condition, is_retrying
from jobops.metrics.headline import Headline, ended_by_minute, headline, retries_by_minute
from jobops.metrics.rows import TenantRow, worst_first
from jobops.metrics.unserved import Unserved
from jobops.web import charts
from jobops.web.formats import percent
from jobops.web.selectors.alerts import Firing, firing
from jobops.web.selectors.dead import DeadSummary, dead_summary, undrained
from jobops.web.selectors.group_counts import whole_undrained
from jobops.web.selectors.snapshot import Snapshot, snapshot, urgent_lane
from jobops.web.selectors.workers import Crew
from jobops.web.words import LOOKS, OWN_LOOKS, Look
from tenants.access import AnyUser, sees_all, tenants_visible_to

MOST_ROWS = 50
"""Rows of tenants that need a look, or that match a search, shown at most."""
FEWEST_ROWS = 13
"""Calm tenants fill the table up to this many rows; the others fold into one sentence."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One lane of one tenant. ``late``: its oldest job waits too long. ``flood``: here is the flood."""

    lane: str
    depth: int
    oldest_s: float | None
    late: bool
    flood: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A tenant's row as the table shows it."""

    row: TenantRow
    look: Look
    cells: tuple[Cell, ...]
    running: charts.Bar
    full: bool
    share: charts.Bar | None
    retrying: bool
    spark: charts.Spark | None

    @property
    def calm(self) -> bool:
        return self.row.condition is Condition.CALM


@dataclass(frozen=True, slots=True)
class Overview:
    """All that the page shows. ``more``: tenants that need a look or match, and did not fit."""

    as_of: datetime
    paused: bool
    staff: bool
    lanes: tuple[str, ...]
    head: Headline
    dead: DeadSummary
    crew: Crew
    rows: Sequence[TenantRow]
    lines: Sequence[Line]
    calm: int
    calm_oldest_s: float
    more: int
    throughput: charts.Spark | None = None
    retries: charts.Spark | None = None
    in_flight: charts.Bar | None = None
    find: str = ""
    show_calm: bool = False
    limits: Limits | None = None
    unserved: Sequence[Unserved] = ()
    firing: Firing = field(default_factory=Firing)

    @property
    def columns(self) -> int:
        """How many columns the table has, for cells that span all."""
        return 2 + 2 * len(self.lanes) + (7 if self.staff else 5)


def overview(user: AnyUser, *, find: str = "", show_calm: bool = False) -> Overview:
    """The overview of this person; a constant number of queries. Raises ``redis.RedisError``."""
    shot = snapshot()
    staff = sees_all(user)
    rows = worst_first(_visible(user, shot, staff))
    # The snapshot's count may be some seconds old, and one number has to stand on all pages.
    dead = replace(shot.dead, open=whole_undrained()) if staff else dead_summary(undrained(user))
    hands = shot.crew if staff else Crew()
    head = headline(rows, shot.lanes, shot.window_s, urgent_lane())
    chosen, calm, more = choose(rows, find=find, show_calm=show_calm or not staff)
    closed = shot.fleet.history.closed() if staff else []
    return Overview(
        as_of=shot.fleet.read_at,
        paused=shot.fleet.paused,
        staff=staff,
        lanes=shot.lanes,
        head=head,
        dead=dead,
        crew=hands,
        rows=rows,
        lines=[line_of(row, shot, staff=staff, scale=scale_of(chosen)) for row in chosen],
        calm=len(calm),
        calm_oldest_s=max((row.oldest_s or 0.0 for row in calm), default=0.0),
        more=more,
        throughput=_throughput(closed),
        retries=_retries(closed, head),
        in_flight=charts.bar(hands.busy, hands.slots, f"{hands.busy} of {hands.slots} slots in use", width=72),
        find=find,
        show_calm=show_calm,
        limits=shot.limits if staff else None,
        unserved=shot.unserved if staff else (),
        firing=firing(user) if staff else Firing(),
    )


def choose(
    rows: Sequence[TenantRow], *, find: str = "", show_calm: bool = False
) -> tuple[list[TenantRow], list[TenantRow], int]:
    """Which rows are shown, which calm ones are folded, and how many others did not fit.

    With a search, only what matches (slug or name), calm or not.
    """
    wanted = find.casefold()
    if wanted:
        found = [row for row in rows if wanted in row.slug.casefold() or wanted in row.facts.name.casefold()]
        return found[:MOST_ROWS], [], max(0, len(found) - MOST_ROWS)
    trouble = [row for row in rows if row.condition is not Condition.CALM]
    calm = [row for row in rows if row.condition is Condition.CALM]
    shown = trouble[:MOST_ROWS]
    room = MOST_ROWS * 2 - len(shown) if show_calm else max(0, FEWEST_ROWS - len(shown))
    return shown + calm[:room], calm[room:], len(trouble) - len(shown)


def _visible(user: AnyUser, shot: Snapshot, staff: bool) -> list[TenantRow]:
    if staff:
        return list(shot.rows.values())
    own = tenants_visible_to(user).values_list("slug", flat=True)
    return [shot.rows[slug] for slug in own if slug in shot.rows]


def scale_of(rows: Sequence[TenantRow]) -> float:
    """What fills a share bar: a little more than the largest share or entitlement on the page."""
    return min(1.0, 1.15 * max((max(row.share or 0.0, row.entitled or 0.0) for row in rows), default=1.0)) or 1.0


def line_of(row: TenantRow, shot: Snapshot, *, staff: bool, scale: float | None = None) -> Line:
    """A row with its charts; ``scale``: what fills its share bar, None: what suits this row alone."""
    flood = row.condition is Condition.FLOODING
    deepest = max(cell.depth for cell in row.lanes) if row.lanes else 0
    full = row.facts.cap is not None and row.running >= row.facts.cap > 0
    of = row.facts.cap if row.facts.cap is not None else max(row.running, 1)
    words = (
        f"{row.running} of {row.facts.cap} running" if row.facts.cap is not None else f"{row.running} running, no cap"
    )
    cells = tuple(
        Cell(
            lane=cell.lane,
            depth=cell.depth,
            oldest_s=cell.oldest_s,
            late=(cell.oldest_s or 0) > (LATE_URGENT_S if cell.lane == urgent_lane() else LATE_S),
            flood=flood and cell.depth == deepest,
        )
        for cell in row.lanes
    )
    return Line(
        row=row,
        look=(LOOKS if staff else OWN_LOOKS)[row.condition],
        cells=cells,
        running=charts.bar(row.running, of, words, tone="warn" if full else "mark"),
        full=full,
        share=_share(row, scale or scale_of([row])) if staff else None,
        retrying=is_retrying(row.counters.starts, row.counters.retries),
        spark=_ended(row, shot),
    )


def _share(row: TenantRow, scale: float) -> charts.Bar | None:
    if row.share is None and row.entitled is None:
        return None
    words = f"{percent(row.share)}% of worker time"
    words += f", entitled to {percent(row.entitled)}%" if row.entitled is not None else ", nothing waits or runs"
    return charts.bar(row.share or 0.0, scale, words, width=88, tick=row.entitled)


def _ended(row: TenantRow, shot: Snapshot) -> charts.Spark | None:
    values = ended_by_minute(shot.fleet.history.closed(row.slug))
    last = f"{values[-1]} in the last" if values else "none yet"
    label = f"{row.slug}: jobs ended a minute over the last {len(values)} minutes, {last}"
    return charts.spark(values, label, width=104, height=26, floor=20.0)


def _throughput(closed: Sequence[Counters]) -> charts.Spark | None:
    values = ended_by_minute(closed)
    return charts.spark(values, f"Jobs ended a minute over the last {len(values)} minutes", floor=20.0)


def _retries(closed: Sequence[Counters], head: Headline) -> charts.Spark | None:
    values = retries_by_minute(closed)
    label = f"Retry rate over the last {len(values)} minutes, now {percent(head.retry_rate)}%"
    return charts.spark(values, label, floor=0.1, tone="warn" if head.retrying else "mark")
