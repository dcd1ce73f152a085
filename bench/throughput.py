"""No-op jobs a second, one slot and two: ours against RQ's SimpleWorker, in turns in one run, append-only file on."""

from __future__ import annotations

import statistics
import tempfile
import time

from redis import Redis
from rig import ours, theirs
from rig.report import Row, arguments, show
from rig.waiting import end, until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

QUEUE = "acme.bulk"


def drained_per_second(redis: Redis, count: int) -> float:
    """From the first tenth of the jobs to the last: start-up is not measured. Both sides keep RQ's registry."""
    finished = f"rq:finished:{QUEUE}"
    first = count // 10
    until(lambda: redis.zcard(finished) >= first, 60, "a tenth of the jobs")
    began, at = time.perf_counter(), redis.zcard(finished)
    until(lambda: redis.zcard(finished) >= count, 120, "all jobs")
    return (count - at) / (time.perf_counter() - began)


def run_ours(server: EmbeddedRedis, slots: int, count: int) -> float:
    redis = Redis.from_url(server.url)
    redis.flushall()
    engine = ours.engine_at(server.url)
    engine.scripts.set_policy(Policy("acme", cap=None))
    ours.enqueue(engine, [ours.new_job("acme", "noop") for _ in range(count)])
    worker = ours.start_worker(server.url, slots, burst=True)
    try:
        return drained_per_second(redis, count)
    finally:
        end([worker])


def run_theirs(server: EmbeddedRedis, slots: int, count: int) -> float:
    redis = Redis.from_url(server.url)
    redis.flushall()
    theirs.enqueue(theirs.queue_at(redis, QUEUE), "noop", [{}] * count)
    workers = [theirs.start_worker(server.url, [QUEUE], burst=True) for _ in range(slots)]
    try:
        return drained_per_second(redis, count)
    finally:
        end(workers)


def main() -> None:
    args = arguments(__doc__ or "", rounds=(3, "rounds, the median counts"), jobs=(6000, "jobs of ours per round"))
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        for slots in (1, 2):
            pairs = [
                (run_theirs(server, slots, args.jobs // 6), run_ours(server, slots, args.jobs))
                for _ in range(args.rounds)
            ]
            base = statistics.median(pair[0] for pair in pairs)
            best = statistics.median(pair[1] for pair in pairs)
            ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
            rows.append(Row(f"rq SimpleWorker, {slots} process(es)", base, "jobs/s"))
            rows.append(Row(f"jobops, {slots} slot(s)", best, "jobs/s", ratio))
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
