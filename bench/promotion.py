"""Many delayed jobs of many tenants fall due at one instant: how soon each is in its queue, and how long claims take
meanwhile. A worker's supervisor promotes, as in production; nobody runs the jobs."""

from __future__ import annotations

import tempfile
import time

from redis import Redis
from rig import ours
from rig.lateness import lateness, rows_of
from rig.probe import Probe, share_of
from rig.report import Row, arguments, show
from rig.waiting import end

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Policy

LIMIT_S = 120
DUE_IN_S = 3


def delay(engine: Engine, jobs: int, tenants: int) -> list[str]:
    """Enqueues the delayed jobs, due far ahead; answers their ids."""
    slugs = [f"tenant-{n}" for n in range(tenants)]
    for slug in slugs:
        engine.scripts.set_policy(Policy(slug))
    data, far = encode("rig.work.noop", (), {}), int((time.time() + 3600) * 1000)
    ids = [f"d{n}" for n in range(jobs)]
    for first in range(0, jobs, 2000):
        ours.enqueue(
            engine,
            [
                NewJob(ids[n], slugs[n % tenants], "bulk", "rig.work.noop", data, due_at_ms=far)
                for n in range(first, min(jobs, first + 2000))
            ],
        )
    return ids


def fall_due(redis: Redis, ids: list[str], at: float) -> None:
    """Moves all to one instant: enqueueing them takes longer than they are to be delayed."""
    for first in range(0, len(ids), 5000):
        redis.zadd(RQ_SCHEDULED, dict.fromkeys(ids[first : first + 5000], round(at, 3)))


def main() -> None:
    args = arguments(
        __doc__ or "",
        jobs=(100_000, "jobs that fall due"),
        tenants=(50, "tenants that they belong to"),
        workers=(1, "workers that promote"),
    )
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        engine = ours.engine_at(server.url)
        redis = engine.redis
        redis_version = str(redis.info("server")["redis_version"])
        ids = delay(engine, args.jobs, args.tenants)
        probe = Probe(engine, 40_000)
        # They serve a lane in which nothing is.
        workers = [ours.start_worker(server.url, 1, burst=False, lanes="interactive") for _ in range(args.workers)]
        try:
            at = time.time() + DUE_IN_S
            fall_due(redis, ids, at)
            calm = probe.until(lambda: time.time() >= at, DUE_IN_S + 10)
            busy = probe.until(lambda: not redis.exists(RQ_SCHEDULED), LIMIT_S)
        finally:
            end(workers)
        late = lateness(redis, ids, at)
    name = f"{args.jobs:,} jobs due at once"
    rows = [Row("claim with nothing due, p99", share_of(calm, 0.99), "ms")]
    rows += rows_of(name, "due", busy, late)
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
