"""Fifty tenants that enqueue one job a second each, beside one with 100,000 waiting jobs: how long theirs wait, against
the same on an idle fleet. Four slots, real workers and naps."""

from __future__ import annotations

import statistics
import tempfile
import time

from rig import ours
from rig.notes import Notes
from rig.probe import share_of
from rig.report import Row, arguments, show
from rig.waiting import end, until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import NewJob, Policy

SLOTS = 4
FLOOD_S, QUIET_S = 0.01, 0.005
LOOK = 0.25


def nap(slug: str, enqueued: float, seconds: float) -> NewJob:
    return ours.new_job(slug, "nap", seconds=seconds, enqueued=enqueued, who=slug)


def waits(server: EmbeddedRedis, flood: int, tenants: int, seconds: int) -> tuple[list[float], float]:
    """Milliseconds that each quiet job waited, and how long the others ran on average."""
    engine = ours.engine_at(server.url)
    engine.redis.flushall()
    engine.prepare()
    slugs = [f"quiet-{n}" for n in range(tenants)]
    for slug in ["flood", *slugs]:
        engine.scripts.set_policy(Policy(slug, cap=None))
    for first in range(0, flood, 2000):
        ours.enqueue(engine, [nap("flood", 0.0, FLOOD_S) for _ in range(min(2000, flood - first))])
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        worker = ours.start_worker(server.url, SLOTS, burst=False)
        try:
            ready = 100 if flood else 0
            until(lambda: len(notes.rows()) >= ready and engine.redis.scard("rq:workers") == SLOTS, 60, "the workers")
            due = time.time()
            for _ in range(seconds):
                for slug in slugs:
                    time.sleep(max(0.0, due - time.time()))
                    ours.enqueue(engine, [nap(slug, time.time(), QUIET_S)])
                    due += 1 / tenants
            until(lambda: len(notes.waits()) == seconds * tenants, 60, "the quiet tenants' jobs", every=LOOK)
            ran = [ended - started for who, _, started, ended in notes.rows() if who == "flood"]
            return notes.waits(), statistics.mean(ran) * 1000 if ran else 0.0
        finally:
            end([worker])


def main() -> None:
    args = arguments(
        __doc__ or "",
        flood=(100_000, "jobs of the flooding tenant"),
        tenants=(50, "tenants with one job a second"),
        seconds=(15, "seconds for which they enqueue"),
    )
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(ours.engine_at(server.url).redis.info("server")["redis_version"])
        idle, _ = waits(server, 0, args.tenants, args.seconds)
        beside, run = waits(server, args.flood, args.tenants, args.seconds)
    more = share_of(beside, 0.99) - share_of(idle, 0.99)
    rows = [
        Row(f"{where}, {name}", share_of(waited, share), "ms")
        for where, waited in (("wait on an idle fleet", idle), (f"wait beside {args.flood:,} jobs of another", beside))
        for name, share in SHARES
    ]
    rows.append(Row("mean run time of the flooding jobs", run, "ms"))
    rows.append(Row("p99 above that on an idle fleet (ratio: of two mean run times)", more, "ms", more / (2 * run)))
    show(rows, args.json, redis_version)


SHARES = (("p50", 0.5), ("p99", 0.99), ("longest", 1.0))


if __name__ == "__main__":
    main()
