"""I4: who may run is in its lane's ring, and the index of waiting tenants is true."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from redis.exceptions import ResponseError

from jobops.doctor import walk
from jobops.doctor.examination import unreadable
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.lanes import known_lanes
from jobops.engine.link import is_away


def check(site: Site) -> Iterator[Finding]:
    """Queues whose ring, index or entry in RQ's list is out of date. Each is read at one instant."""
    lanes = known_lanes(site.engine)
    for names in walk.queues(site.engine):
        for queue in names:
            tenant, lane = rq.split_queue(queue)
            if lane not in lanes:
                continue
            try:
                wrong = _wrong(site.engine, tenant, lane)
            except ResponseError as error:
                if is_away(error):
                    raise
                yield unreadable("queue", queue, error)
                continue
            if wrong:
                remedy = partial(_repair, site.engine, tenant, lane)
                yield Finding("ring_out_of_date", "queue", queue, wrong, tenant, remedy)


def _wrong(engine: Engine, tenant: str, lane: str) -> str:
    queue, keys = f"{tenant}.{lane}", engine.keys
    with engine.redis.pipeline(transaction=True) as pipe:
        pipe.llen(rq.rq_queue(queue))
        pipe.zcard(keys.held(tenant, lane))
        pipe.zscore(keys.parked(), f"tenant:{tenant}")
        pipe.hmget(keys.tenant(tenant), "weight", "paused", "cap", f"cap:{lane}")
        pipe.zcard(keys.inflight(tenant))
        pipe.zcard(rq.rq_wip(queue))
        pipe.zscore(keys.ring(lane), tenant)
        pipe.zscore(keys.active(lane), tenant)
        pipe.sismember(rq.RQ_QUEUES, rq.rq_queue(queue))
        depth, held, parked, policy, inflight, started, ring, active, listed = pipe.execute()
    weight, paused, cap, lane_cap = policy
    has_room = _below(inflight, cap) and _below(started, lane_cap)
    if depth and weight and paused != b"1" and has_room and ring is None and parked is None:
        return f"{depth} of its jobs wait and it may run, but it is not in the ring of {lane}: nothing starts"
    if not depth and ring is not None:
        return f"it is in the ring of {lane}, but nothing of it waits"
    if bool(depth + held) != (active is not None):
        return f"{depth + held} of its jobs wait, but the index of waiting tenants says {'some' if active else 'none'}"
    if depth and not listed:
        return f"{depth} of its jobs wait, but RQ's list of queues does not have it: RQ's tools and reconcile miss it"
    return ""


def _below(count: int, cap: bytes | None) -> bool:
    return not cap or not cap.isdigit() or count < int(cap)


def _repair(engine: Engine, tenant: str, lane: str) -> str:
    before = _wrong(engine, tenant, lane)
    if not before:
        return ""
    queue = f"{tenant}.{lane}"
    if engine.redis.exists(rq.rq_queue(queue)):
        engine.redis.sadd(rq.RQ_QUEUES, rq.rq_queue(queue))
    engine.scripts.reconcile(queue)
    if after := _wrong(engine, tenant, lane):
        raise NotRepaired(after)
    return "reconciled"
