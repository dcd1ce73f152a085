"""The list of tenants, and all that a tenant's page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Q

from dlq.models import DeadLetter
from jobops.engine.client import Engine
from jobops.engine.jobs import ListState, list_jobs
from jobops.engine.records import Counters, JobView
from jobops.limits.models import Pause
from jobops.metrics.condition import Condition
from jobops.metrics.rows import TenantFacts, TenantRow, tenant_rows
from jobops.runtime import get_engine
from jobops.web.paging import Slice, slice_by
from jobops.web.selectors.dead import newest_letters
from jobops.web.selectors.overview import Line, line_of
from jobops.web.selectors.reach import reading_redis
from jobops.web.selectors.snapshot import Snapshot, snapshot
from jobops.web.words import LOOKS, OWN_LOOKS, Look
from tenants.access import AnyUser, sees_all, tenants_visible_to
from tenants.models import Tenant
from tenants.policy import belongs

RUNNING, WAITING = 20, 5
"""Running jobs shown of each lane, and waiting ones: the first in the queue."""


NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant in the list, with the engine's numbers beside."""

    tenant: Tenant
    look: Look
    running: int
    depth: int
    per_minute: float
    dead_open: int

    @property
    def slug(self) -> str:
        return self.tenant.slug


@dataclass(frozen=True, slots=True)
class LaneJobs:
    """One lane of a tenant: its numbers, what runs, and who is first in its queue."""

    lane: str
    queue: str
    depth: int
    oldest_s: float | None
    running: int
    cap: int | None
    started: Sequence[JobView]
    waiting: Sequence[JobView]


@dataclass(frozen=True, slots=True)
class TenantPage:
    """A tenant, now and over the last minutes."""

    as_of: datetime
    paused: bool
    tenant: Tenant
    row: TenantRow
    line: Line
    lanes: Sequence[LaneJobs]
    letters: Sequence[DeadLetter]
    everything: Pause | None = None

    @property
    def started(self) -> list[JobView]:
        """What runs, the longest first."""
        jobs = [job for lane in self.lanes for job in lane.started]
        return sorted(jobs, key=lambda job: job.started_at or NEVER)

    @property
    def waiting(self) -> list[JobView]:
        """Who is first in each queue."""
        return [job for lane in self.lanes for job in lane.waiting]


def tenant_list(
    user: AnyUser, params: Mapping[str, str], find: str
) -> tuple[Slice[Tenant], list[TenantLine], Snapshot]:
    """One page of the tenants this person may see, by slug. Raises ``redis.RedisError``."""
    shot = snapshot()
    rows = tenants_visible_to(user)
    if find:
        rows = rows.filter(Q(slug__icontains=find) | Q(name__icontains=find))
    page = slice_by(rows, "slug", params, {"find": find})
    looks = LOOKS if sees_all(user) else OWN_LOOKS
    return page, [_tenant_line(tenant, shot, looks) for tenant in page.rows], shot


def _tenant_line(tenant: Tenant, shot: Snapshot, looks: Mapping[Condition, Look]) -> TenantLine:
    row = row_of(tenant, shot)
    return TenantLine(tenant, looks[row.condition], row.running, row.depth, row.per_minute, row.facts.dead_open)


def row_of(tenant: Tenant, shot: Snapshot) -> TenantRow:
    """The tenant's row; an empty one if it was created after the snapshot."""
    row = shot.rows.get(tenant.slug)
    if row is not None:
        return row
    facts = TenantFacts(tenant.slug, tenant.name, tenant.weight, tenant.cap, tenant.paused, tenant.intake_closed)
    return tenant_rows([facts], [], {tenant.slug: Counters()}, shot.lanes)[0]


def tenant_page(user: AnyUser, tenant: Tenant) -> TenantPage:
    """All that the page of this tenant shows. The caller got it through ``access``. Raises ``redis.RedisError``."""
    shot = snapshot()
    row = row_of(tenant, shot)
    with reading_redis():
        lanes = _lanes(get_engine(), tenant, row)
    return TenantPage(
        as_of=shot.fleet.read_at,
        paused=shot.fleet.paused,
        tenant=tenant,
        row=row,
        line=line_of(row, shot, staff=sees_all(user)),
        lanes=lanes,
        letters=newest_letters(tenant),
        everything=shot.limits.everything,
    )


def _lanes(engine: Engine, tenant: Tenant, row: TenantRow) -> list[LaneJobs]:
    return [
        LaneJobs(
            lane=cell.lane,
            queue=f"{tenant.slug}.{cell.lane}",
            depth=cell.depth,
            oldest_s=cell.oldest_s,
            running=cell.running,
            cap=tenant.lane_caps.get(cell.lane),
            started=_jobs(engine, tenant, cell.lane, "started", RUNNING),
            waiting=_waiting(engine, tenant, cell.lane),
        )
        for cell in row.lanes
    ]


def _waiting(engine: Engine, tenant: Tenant, lane: str) -> list[JobView]:
    """The first of those in the queue, and of those that wait for a limit, the oldest first."""
    jobs = _jobs(engine, tenant, lane, "queued", WAITING) + _jobs(engine, tenant, lane, "waiting", WAITING)
    return jobs[:WAITING]


def _jobs(engine: Engine, tenant: Tenant, lane: str, state: ListState, limit: int) -> list[JobView]:
    # A hash may say anything: what claims to be another tenant's is not shown here.
    jobs = list_jobs(engine, f"{tenant.slug}.{lane}", state=state, limit=limit)
    return [job for job in jobs if job.tenant == tenant.slug and belongs(job.tenant_uid, tenant)]
