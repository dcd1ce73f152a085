"""How soon a job starts that is enqueued to an idle fleet: two slots wait, one job at a time; beside RQ's worker."""

from __future__ import annotations

import statistics
import tempfile
import time

from redis import Redis
from rig import ours, theirs
from rig.notes import Notes
from rig.report import Row, arguments, show
from rig.waiting import end, until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

SLOTS = 2


def waits_of_ours(server: EmbeddedRedis, jobs: int) -> list[float]:
    Redis.from_url(server.url).flushall()
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        engine = ours.engine_at(server.url)
        engine.scripts.set_policy(Policy("acme", cap=None))
        worker = ours.start_worker(server.url, SLOTS, burst=False)
        try:
            until(lambda: engine.redis.zcard(engine.keys.idle("bulk")) == SLOTS, 30, "two waiting slots")
            for n in range(jobs):
                nap = ours.new_job("acme", "nap", seconds=0.0, enqueued=time.time(), who="acme")
                ours.enqueue(engine, [nap])
                until(lambda n=n: len(notes.rows()) > n, 10, "the job")
                time.sleep(0.05)
            return notes.waits()
        finally:
            end([worker])


def waits_of_theirs(server: EmbeddedRedis, jobs: int) -> list[float]:
    redis = Redis.from_url(server.url)
    redis.flushall()
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        queue = theirs.queue_at(redis, "acme")
        workers = [theirs.start_worker(server.url, ["acme"], burst=False) for _ in range(SLOTS)]
        try:
            until(lambda: redis.scard("rq:workers") == SLOTS, 30, "two waiting workers")
            for n in range(jobs):
                theirs.enqueue(queue, "nap", [{"seconds": 0.0, "enqueued": time.time(), "who": "acme"}])
                until(lambda n=n: len(notes.rows()) > n, 10, "the job")
                time.sleep(0.05)
            return notes.waits()
        finally:
            end(workers)


def main() -> None:
    args = arguments(__doc__ or "", jobs=(100, "jobs of each side"))
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        theirs_ms, ours_ms = waits_of_theirs(server, args.jobs), waits_of_ours(server, args.jobs)
        for name, pick in (("p50", statistics.median), ("max", max)):
            base, best = pick(theirs_ms), pick(ours_ms)
            rows.append(Row(f"enqueue to start on an idle fleet, {name}: rq SimpleWorker", base, "ms"))
            rows.append(Row(f"enqueue to start on an idle fleet, {name}: jobops", best, "ms", best / base))
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
