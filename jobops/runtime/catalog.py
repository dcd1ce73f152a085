"""The catalog of this process: its job types and settings, with what Redis and the database can tell."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import DatabaseError
from django.db.models import Count, Min, Q
from redis.exceptions import RedisError

from jobops.contracts import registry
from jobops.contracts.catalog.design import Catalog
from jobops.contracts.catalog.facts import Live, Measured, RunTimes, TenantCounts
from jobops.contracts.catalog.making import make_catalog
from jobops.contracts.job_type import JobType
from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.worker_views import SupervisorView, read_supervisors
from jobops.limits.in_force import limit_of
from jobops.limits.models import LimitChange
from jobops.metrics.fleet import Fleet, read_fleet
from jobops.metrics.rows import WINDOW_MINUTES, total
from jobops.metrics.run_times import read_run_times
from jobops.runtime.engine import get_engine
from jobops.runtime.installation import installation
from tenants.models import Tenant

UNASKED = "it was not asked for"


def read_catalog(*, measure: bool = True, ask_redis: bool = True) -> Catalog:
    """The execution design of the code that runs here. Without ``measure``, or where Redis or the database is away,
    it is told what the code says, and that the rest is not measured. Never raises for either being away.

    ``ask_redis`` False: it is known to be away, and nobody is to wait for it.
    """
    types = registry.all_types()
    return make_catalog(types, installation(), _measure(types, ask_redis) if measure else Measured(missing=UNASKED))


def _measure(types: Sequence[JobType], ask_redis: bool) -> Measured:
    run_times: dict[str, RunTimes] = {}
    live: Live | None = None
    missing = []
    with contextlib.suppress(RedisError):  # its text goes nowhere: it may name hosts and passwords
        if ask_redis:
            engine = get_engine()
            fleet = read_fleet(engine)
            run_times = read_run_times(engine, types, int(fleet.read_at.timestamp() * 1000))
            live = _live(engine, fleet)
    if live is None:
        missing.append("Redis cannot be reached")
    tenants = _tenants()
    if tenants is None:
        missing.append("the database gives no answer")
    return Measured(run_times, live, tenants, ", ".join(missing), _changed_limits())


def _live(engine: Engine, fleet: Fleet) -> Live:
    living = [one for one in read_supervisors(engine) if one.state != "lost"]
    slots = [slot for one in living for slot in one.slots if slot.state != "lost"]
    waiting: dict[str, int] = {}
    running: dict[str, int] = {}
    for queue in fleet.queues:
        waiting[queue.lane] = waiting.get(queue.lane, 0) + queue.depth
        running[queue.lane] = running.get(queue.lane, 0) + queue.running
    delayed: Any = engine.redis.zcard(RQ_SCHEDULED)
    return Live(
        at=datetime.fromtimestamp(int(fleet.read_at.timestamp()), UTC),
        workers=len(living),
        slots=len(slots),
        busy=sum(slot.state == "busy" for slot in slots),
        served=_served(living),
        used=_used(fleet, len(slots)),
        waiting=waiting,
        running=running,
        delayed=int(delayed),
        redis=_redis_settings(engine),
    )


def _served(living: Sequence[SupervisorView]) -> frozenset[str]:
    return frozenset(lane for one in living for lane in one.lanes)


def _used(fleet: Fleet, slots: int) -> float | None:
    """The part of the slots' time that jobs used in the last minutes; there may have been fewer slots, or more."""
    window_s = fleet.history.window_s(WINDOW_MINUTES)
    if not slots or window_s <= 0:
        return None
    used_ms = total(fleet.history.window(WINDOW_MINUTES).values()).worker_ms
    return min(1.0, used_ms / 1000 / (slots * window_s))


def _redis_settings(engine: Engine) -> dict[str, str]:
    """Its version and what decides about losses. A hosted Redis may keep its settings to itself."""
    info: Any = engine.redis.info()
    found = {
        "version": str(info.get("redis_version", "")),
        "appendonly": "yes" if info.get("aof_enabled") else "no",
        "maxmemory-policy": str(info.get("maxmemory_policy", "")),
    }
    try:
        config: Any = engine.redis.config_get("appendfsync")
    except RedisError:
        config = {}
    return {**found, **{str(name): str(value) for name, value in config.items()}}


def _changed_limits() -> dict[str, str]:
    """Gate → what operators put in place of the declared limit. Empty too while the database is away."""
    try:
        rows = list(LimitChange.objects.all())
    except DatabaseError:
        return {}
    return {row.resource: f"{limit_of(row)}, changed by {row.changed_by}" for row in rows}


def _tenants() -> TenantCounts | None:
    try:
        counts = Tenant.objects.aggregate(
            count=Count("pk"),
            uncapped=Count("pk", filter=Q(cap=None)),
            without_depth_limit=Count("pk", filter=Q(depth_limit=None)),
            lightest=Min("weight"),
        )
    except DatabaseError:
        return None
    return TenantCounts(**counts)
