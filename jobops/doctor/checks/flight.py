"""In flight: nobody runs more than its cap (I2), and no place of a cap is held by a job that is gone (I1)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from jobops.doctor import walk
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.lanes import known_lanes
from tenants.models import Tenant


def check(site: Site) -> Iterator[Finding]:
    """Tenants above a cap, and leftovers in flight."""
    lanes = list(known_lanes(site.engine))
    for slug in walk.busy_tenants(site.engine):
        yield from _leftovers(site.engine, slug, lanes)
        yield from _over_cap(site.engine, slug, lanes)


def _leftovers(engine: Engine, slug: str, lanes: list[str]) -> Iterator[Finding]:
    for job_id in _held_by_nobody(engine, slug, lanes):
        text = "it takes a place in its tenant's cap, but no lease speaks for it"
        yield Finding("lease_without_job", "job", job_id, text, slug, partial(_free, engine, slug, lanes, job_id))


def _held_by_nobody(engine: Engine, slug: str, lanes: list[str]) -> list[str]:
    """Ids in flight without a lease. Those with a record are left to the check of jobs."""
    with engine.redis.pipeline(transaction=False) as pipe:
        pipe.zrange(engine.keys.inflight(slug), 0, -1)
        for lane in lanes:
            pipe.zrange(rq.rq_wip(f"{slug}.{lane}"), 0, -1)
        inflight, *started = walk.told(pipe.execute(raise_on_error=False))
    ids = {walk.text(raw) for raw in inflight or ()}
    ids |= {walk.text(raw).partition(":")[0] for members in started for raw in members or ()}
    suspects = sorted(ids - {""})
    with engine.redis.pipeline(transaction=True) as pipe:
        for job_id in suspects:
            pipe.zscore(engine.keys.leases(), job_id)
            pipe.zscore(engine.keys.inflight(slug), job_id)
            pipe.exists(rq.rq_job(job_id))
        answers = pipe.execute()
    looks = zip(suspects, answers[::3], answers[1::3], answers[2::3], strict=True)
    return [job_id for job_id, lease, place, record in looks if lease is None and place is not None and not record]


def _free(engine: Engine, slug: str, lanes: list[str], job_id: str) -> str:
    for lane in lanes:
        engine.scripts.reconcile(f"{slug}.{lane}")
    if job_id in _held_by_nobody(engine, slug, lanes):
        raise NotRepaired("its place is still taken")
    return "its place in flight is free again"


def _over_cap(engine: Engine, slug: str, lanes: list[str]) -> Iterator[Finding]:
    names = ["cap", *(f"cap:{lane}" for lane in lanes)]
    with engine.redis.pipeline(transaction=True) as pipe:
        pipe.hmget(engine.keys.tenant(slug), names)
        pipe.zcard(engine.keys.inflight(slug))
        for lane in lanes:
            pipe.zcard(rq.rq_wip(f"{slug}.{lane}"))
        caps, *counts = pipe.execute()
    for name, cap, count in zip(names, caps, counts, strict=True):
        if cap and cap.isdigit() and count > int(cap):
            where = f" in lane {name.removeprefix('cap:')}" if name != "cap" else ""
            yield _told(engine, slug, f"{count} of its jobs run{where}, its cap is {int(cap)}")


def _told(engine: Engine, slug: str, text: str) -> Finding:
    """Whoever started before the policy in force was pushed, started under an older one."""
    pushed_at = Tenant.objects.filter(slug=slug).values_list("policy_pushed_at", flat=True).first()
    newest_at = _newest_start(engine, slug)
    if pushed_at is not None and newest_at is not None and newest_at <= pushed_at:
        text += ": it was lowered while they ran, none has started since, and they fall by themselves"
        return Finding("over_cap", "tenant", slug, text, slug, is_note=True)
    text += ". If it was lowered a moment ago, look again when they have ended; else a claim was wrong"
    return Finding("over_cap", "tenant", slug, text, slug)


def _newest_start(engine: Engine, slug: str) -> datetime | None:
    ids: Any = engine.redis.zrange(engine.keys.inflight(slug), 0, -1)
    with engine.redis.pipeline(transaction=False) as pipe:
        for raw in ids:
            pipe.hget(engine.keys.lease(walk.text(raw)), "started")
        started = [int(micros) for micros in pipe.execute() if micros and micros.isdigit()]
    return datetime.fromtimestamp(max(started) / 1_000_000, UTC) if started else None
