"""Limits and pauses as people look at them: what contracts declare, what operators changed, and what Redis does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from jobops.contracts.declared_limits import Declared, Limit
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.gates import GateView
from jobops.limits import pushing
from jobops.limits.in_force import Wanted, wanted_and_there
from jobops.limits.models import LimitChange, Pause
from jobops.limits.targets import Target, of_gate

MOST_LOOKED_AT = 500
"""Of so many that wait longest the tenants are counted."""
MOST_TENANTS = 5


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One job type or resource. ``declared``: what the contracts here say; None: they do not speak of it.

    ``limit`` is what must be in force, and ``in_force`` whether Redis obeys it. ``oldest_s``: since when the first job
    waits for it. ``tenants``: whose jobs wait, of the first ``MOST_LOOKED_AT``, the most first.
    """

    target: Target
    view: GateView
    limit: Limit
    declared: Declared | None
    change: LimitChange | None
    pause: Pause | None
    in_force: bool
    brake_until: datetime | None
    oldest_s: float | None = None
    tenants: Sequence[tuple[str, int]] = ()

    @property
    def undeclared(self) -> bool:
        """Jobs name this resource, and no contract here does."""
        return self.declared is None and self.target.kind == "resource"


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them. ``read_at``: on Redis's clock. ``everything``: the pause of all, or None; ``all_paused``: whether
    Redis obeys it."""

    read_at: datetime
    everything: Pause | None
    all_paused: bool
    rows: Sequence[LimitRow]

    @property
    def paused(self) -> list[LimitRow]:
        """The rows that somebody paused."""
        return [row for row in self.rows if row.pause is not None]

    @property
    def braked(self) -> list[LimitRow]:
        """The rows with a brake on."""
        return [row for row in self.rows if row.brake_until is not None]


def read_limits(engine: Engine, *, who_waits: bool = False) -> Limits:
    """Everything that is limited or paused, by name: resources first. Two queries, and a bounded number of reads.

    ``who_waits``: with the tenants whose jobs wait. Raises ``redis.RedisError``.
    """
    now_ms = engine.scripts.now_ms()
    must, views = wanted_and_there(engine)
    ages = _oldest(engine, [view.name for view in views.values() if view.waiting], now_ms)
    rows = [_row(view, must, now_ms, ages.get(view.name)) for view in views.values() if _is_told(view, must)]
    if who_waits:
        rows = _with_tenants(engine, rows)
    return Limits(
        read_at=datetime.fromtimestamp(now_ms / 1000, UTC),
        everything=must.everything,
        all_paused=engine.scripts.is_paused(),
        rows=sorted(rows, key=lambda row: (row.target.kind, row.target.name)),
    )


def _is_told(view: GateView, must: Wanted) -> bool:
    """Not told: a job type that nothing limits any more, and another name of one that is paused along with it."""
    target, pause = of_gate(view.name), must.pause_of(view.name)
    along = pause is not None and pause.name != target.name
    says = view.concurrency is not None or view.rate is not None or view.name in must.changes
    held = (pause is not None or view.paused) and not along
    return target.kind == "resource" or says or held or bool(view.waiting or view.inflight)


def _row(view: GateView, must: Wanted, now_ms: int, oldest_s: float | None) -> LimitRow:
    limit = must.limit(view.name)
    pause = must.pause_of(view.name)
    return LimitRow(
        target=of_gate(view.name),
        view=view,
        limit=limit if isinstance(limit, Limit) else Limit(view.concurrency, view.rate),
        declared=must.declared.get(view.name),
        change=must.changes.get(view.name),
        pause=pause,
        in_force=view.paused == (pause is not None) and (limit is None or not pushing.differs(view, limit)),
        brake_until=datetime.fromtimestamp(view.brake_until_ms / 1000, UTC) if view.brake_until_ms > now_ms else None,
        oldest_s=oldest_s,
    )


def _oldest(engine: Engine, gates: Sequence[str], now_ms: int) -> dict[str, float]:
    """Since when the first job waits for each of these gates, in seconds."""
    with engine.redis.pipeline(transaction=False) as pipe:
        for gate in gates:
            pipe.zrange(engine.keys.waiting(gate), 0, 0, withscores=True)
        answers: list[Any] = pipe.execute()
    return {gate: max(0.0, (now_ms - first[0][1]) / 1000) for gate, first in zip(gates, answers, strict=True) if first}


def _with_tenants(engine: Engine, rows: list[LimitRow]) -> list[LimitRow]:
    return [replace(row, tenants=_who_waits(engine, row.target.gate)) if row.view.waiting else row for row in rows]


def _who_waits(engine: Engine, gate: str) -> list[tuple[str, int]]:
    ids: Any = engine.redis.zrange(engine.keys.waiting(gate), 0, MOST_LOOKED_AT - 1)
    with engine.redis.pipeline(transaction=False) as pipe:
        for job_id in ids:
            pipe.hget(rq.rq_job(job_id.decode(errors="backslashreplace")), "jo_tenant")
        tenants = Counter(tenant.decode(errors="replace") for tenant in pipe.execute() if tenant)
    return sorted(tenants.items(), key=lambda each: (-each[1], each[0]))[:MOST_TENANTS]
