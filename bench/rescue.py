"""Many leases run out at once, as when a host with all its workers is gone: how soon each job is in its queue again,
and how long claims take meanwhile. A worker's supervisor rescues, as in production; nobody runs the jobs."""

from __future__ import annotations

import tempfile
import time

from rig import ours
from rig.lateness import lateness, rows_of
from rig.probe import Probe, share_of
from rig.report import Row, arguments, show
from rig.waiting import end

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Policy

LIMIT_S = 120
RUN_OUT_IN_S = 4


def start_jobs(engine: Engine, jobs: int, tenants: int) -> list[str]:
    """So many jobs under a lease each, of as many slots that nobody will hear of again."""
    data = encode("rig.work.noop", (), {})
    for n in range(tenants):
        engine.scripts.set_policy(Policy(f"tenant-{n}", cap=None))
    ids = [f"l{n}" for n in range(jobs)]
    for first in range(0, jobs, 2000):
        batch = range(first, min(jobs, first + 2000))
        ours.enqueue(
            engine,
            [NewJob(ids[n], f"tenant-{n % tenants}", "bulk", "rig.work.noop", data, lease_ms=600_000) for n in batch],
        )
    for n in range(jobs):
        claim = engine.scripts.claim(f"gone-{n}", 1, "gone", ["bulk"])
        assert claim.job is not None
    return ids


def run_out(engine: Engine, ids: list[str], at: float) -> None:
    """All leases end at one instant."""
    for first in range(0, len(ids), 5000):
        engine.redis.zadd(engine.keys.leases(), dict.fromkeys(ids[first : first + 5000], int(at * 1000)))


def main() -> None:
    args = arguments(
        __doc__ or "", jobs=(10_000, "leases that run out"), tenants=(50, "tenants that their jobs belong to")
    )
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        engine = ours.engine_at(server.url)
        redis, leases = engine.redis, engine.keys.leases()
        redis_version = str(redis.info("server")["redis_version"])
        ids = start_jobs(engine, args.jobs, args.tenants)
        probe = Probe(engine, 40_000)
        worker = ours.start_worker(server.url, 1, burst=False, lanes="interactive")
        try:
            at = time.time() + RUN_OUT_IN_S
            run_out(engine, ids, at)
            calm = probe.until(lambda: time.time() >= at, RUN_OUT_IN_S + 10)
            busy = probe.until(lambda: redis.zcard(leases) <= 1, LIMIT_S)
        finally:
            end([worker])
        late = lateness(redis, ids, at)
    name = f"{args.jobs:,} leases out at once"
    rows = [Row("claim with no lease out, p99", share_of(calm, 0.99), "ms")]
    rows += rows_of(name, "out", busy, late)
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
