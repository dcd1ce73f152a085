"""What the queues look like now. Every read is bounded by the tenants asked for, in two round trips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.records import Counters, QueueView


def active_tenants(engine: Engine) -> list[str]:
    """Slugs of tenants with waiting or running jobs, sorted."""
    with engine.redis.pipeline(transaction=False) as pipe:
        for lane in engine.lanes:
            pipe.zrange(engine.keys.active(lane), 0, -1)
        pipe.smembers(engine.keys.busy())
        answers = pipe.execute()
    return sorted({slug.decode() for answer in answers for slug in answer})


def read_queues(engine: Engine, tenants: Iterable[str] | None = None) -> list[QueueView]:
    """One row per tenant and lane, in the order of tenants and lanes. ``None``: the active tenants."""
    slugs: Sequence[str] = active_tenants(engine) if tenants is None else list(tenants)
    with engine.redis.pipeline(transaction=False) as pipe:
        pipe.time()
        for slug in slugs:
            for lane in engine.lanes:
                pipe.llen(rq.rq_queue(f"{slug}.{lane}"))
                pipe.zscore(engine.keys.active(lane), slug)
                pipe.zcard(rq.rq_wip(f"{slug}.{lane}"))
                pipe.zcard(engine.keys.held(slug, lane))
        answers = pipe.execute()
    seconds, micros = answers[0]
    now_ms = int(seconds) * 1000 + int(micros) / 1000
    rows, at = [], 1
    for slug in slugs:
        for lane in engine.lanes:
            queued, since, running, waiting = answers[at : at + 4]
            at += 4
            depth = queued + waiting
            age = max(0.0, (now_ms - since) / 1000) if depth and since is not None else None
            rows.append(QueueView(slug, lane, depth, age, running, waiting))
    return rows


def minute_counters(engine: Engine, minutes: int = 5) -> dict[str, Counters]:
    """What happened per tenant in the last ``minutes`` whole minutes and the running one (at most 14)."""
    totals: dict[str, dict[str, int]] = {}
    for fields in _minutes(engine, "tenant", minutes):
        for field, value in fields.items():
            tenant, _, what = field.decode().rpartition("|")
            row = totals.setdefault(tenant, {})
            row[what] = row.get(what, 0) + int(value)
    return {tenant: _counters(row) for tenant, row in totals.items()}


def type_counters(engine: Engine, minutes: int = 5) -> dict[str, dict[str, int]]:
    """The same per job type: outcomes by name, and ``b<k>``: how many ran up to 2**k ms."""
    totals: dict[str, dict[str, int]] = {}
    for fields in _minutes(engine, "type", minutes):
        for field, value in fields.items():
            job_type, *whats = field.decode().split("|")
            row = totals.setdefault(job_type, {})
            for what in whats:
                row[what] = row.get(what, 0) + int(value)
    return totals


def _minutes(engine: Engine, what: str, minutes: int) -> list[dict[bytes, bytes]]:
    current = engine.scripts.now_ms() // 60_000
    with engine.redis.pipeline(transaction=False) as pipe:
        for back in range(min(minutes, 14) + 1):
            pipe.hgetall(engine.keys.minute(current - back, what))
        return list(pipe.execute())


def _counters(row: dict[str, int]) -> Counters:
    return Counters(
        starts=row.get("starts", 0),
        retries=row.get("retries", 0),
        succeeded=row.get("succeeded", 0),
        dead=row.get("dead", 0),
        discarded=row.get("discarded", 0),
        lost=row.get("lost", 0),
        worker_ms=row.get("us", 0) // 1000,
    )
