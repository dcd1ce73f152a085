"""Every tenant's row, read once for all who look: a second of age costs nobody anything, a read per viewer might.

What is kept here is never shown as it is: ``overview`` takes out of it what the person may see.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from django.conf import settings

from dlq.models import UNDRAINED, DeadLetter
from jobops.engine.worker_views import SupervisorView, read_supervisors, served_lanes
from jobops.limits.reading import Limits, read_limits
from jobops.metrics.fleet import Fleet, read_fleet
from jobops.metrics.rows import WINDOW_MINUTES, TenantFacts, TenantRow, tenant_rows
from jobops.metrics.unserved import StrayReader, Unserved, unserved_lanes
from jobops.runtime import get_engine
from jobops.web.remembered import Remembered
from jobops.web.selectors import reach
from jobops.web.selectors.dead import DeadSummary, dead_summary
from jobops.web.selectors.reach import reading_redis
from jobops.web.selectors.workers import Crew, read_crew
from tenants.models import Tenant

KEEP_S = 1.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All tenants by slug, the workers, and what was read to make the rows."""

    fleet: Fleet
    rows: Mapping[str, TenantRow]
    dead: DeadSummary
    lanes: tuple[str, ...]
    supervisors: tuple[SupervisorView, ...]
    crew: Crew
    limits: Limits
    unserved: tuple[Unserved, ...]

    @property
    def window_s(self) -> float:
        """How long the counters of the rows ran, in seconds."""
        return self.fleet.history.window_s(WINDOW_MINUTES)


_kept: tuple[float, Snapshot] | None = None
_lock = Lock()
_strays = StrayReader()
# A million letters are counted by their tenants: that takes longer than all the rest.
_dead: Remembered[DeadSummary] = Remembered(quick_s=0.05, most_s=15.0)


def snapshot() -> Snapshot:
    """The rows of all tenants, at most a second old. Raises ``redis.RedisError`` when Redis is away."""
    global _kept
    with _lock:
        if _kept is not None and time.monotonic() - _kept[0] < KEEP_S:
            return _kept[1]
        # While Redis hangs, one request waits for its time-out, and those behind it do not wait for one each.
        with reading_redis():
            _kept = (time.monotonic(), _read())
        return _kept[1]


def forget() -> None:
    """Read anew at the next call: somebody has just changed a tenant and wants to see it."""
    global _kept
    _kept = None
    _strays.forget()
    _dead.forget()
    reach.forget()


def urgent_lane() -> str:
    """The lane whose jobs are late soonest: the settings name it first."""
    return next(iter(settings.JOBOPS_LANES))


def _read() -> Snapshot:
    engine = get_engine()
    fleet = read_fleet(engine)
    dead = _dead.get(None, lambda: dead_summary(DeadLetter.objects.filter(state__in=UNDRAINED)))
    fields = ("slug", "name", "weight", "cap", "paused", "intake_closed")
    tenants = list(Tenant.objects.order_by("slug").only(*fields))
    facts = [facts_of(tenant, dead) for tenant in tenants]
    lanes = tuple(engine.lanes)
    rows = tenant_rows(
        facts,
        fleet.queues,
        fleet.history.window(WINDOW_MINUTES),
        lanes,
        window_s=fleet.history.window_s(WINDOW_MINUTES),
        urgent_lane=urgent_lane(),
    )
    supervisors = tuple(read_supervisors(engine))
    crew = read_crew(engine, supervisors, sum(row.running for row in rows), fleet.read_at)
    unserved = (*(unserved_lanes(engine, served_lanes(supervisors)) if crew.slots else ()), *_strays.read(engine))
    return Snapshot(
        fleet, {row.slug: row for row in rows}, dead, lanes, supervisors, crew, read_limits(engine), unserved
    )


def facts_of(tenant: Tenant, dead: DeadSummary) -> TenantFacts:
    """What a row needs to know of a tenant beside the engine's numbers."""
    counts = dead.of(tenant.pk)
    return TenantFacts(
        slug=tenant.slug,
        name=tenant.name,
        weight=tenant.weight,
        cap=tenant.cap,
        paused=tenant.paused,
        intake_closed=tenant.intake_closed,
        dead_open=counts.open,
        dead_overdue=counts.overdue,
    )
