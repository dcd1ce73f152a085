"""Throughput and processor time per job: ours beside RQ (a fork per job), Celery, taskiq, dramatiq and Huey.

All run the same job, which appends a byte to a file, on the same Redis, in turns in one run, with as many workers. Each
peer is as it comes; where results can be off they are, but for ours, which keeps results, leases and registries.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redis import Redis
from rig import others, ours
from rig.marks import MARKS
from rig.report import Row, arguments, show
from rig.waiting import until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

OURS = others.Peer("jobops", "jobops", 3000)
LONGEST_S = 60


@dataclass(frozen=True)
class Figures:
    """Of one side in one round: jobs a second, and microseconds of the processor for each job: workers' and Redis's."""

    rate: float
    work: float
    redis: float


def redis_s(redis: Redis) -> float:
    used = redis.info("cpu")
    return float(used["used_cpu_user"] + used["used_cpu_sys"])


def measure(redis: Redis, count: int, start: Callable[[], subprocess.Popen[bytes]]) -> Figures:
    """From the first tenth of the jobs to the last: start-up does not count."""
    with tempfile.TemporaryDirectory() as directory:
        marks = Path(directory) / "marks"
        marks.touch()
        os.environ[MARKS] = str(marks)

        def done() -> int:
            return marks.stat().st_size

        process = start()
        try:
            until(lambda: done() >= count // 10, LONGEST_S, "a tenth of the jobs")
            at, began = done(), time.perf_counter()
            work, server = others.processor_s(process.pid), redis_s(redis)
            until(lambda: done() >= count, LONGEST_S, "all jobs")
            took, jobs = time.perf_counter() - began, count - at
            work, server = others.processor_s(process.pid) - work, redis_s(redis) - server
            return Figures(jobs / took, work / jobs * 1e6, server / jobs * 1e6)
        finally:
            others.end(process)


def of_ours(server: EmbeddedRedis, redis: Redis, workers: int, count: int) -> Figures:
    redis.flushall()
    engine = ours.engine_at(server.url)
    engine.scripts.set_policy(Policy("acme", cap=None))
    ours.enqueue(engine, [ours.new_job("acme", "mark") for _ in range(count)])
    return measure(redis, count, lambda: ours.start_worker(server.url, workers, burst=False, session=True))


def of_peer(python: Path, peer: others.Peer, server: EmbeddedRedis, redis: Redis, workers: int, count: int) -> Figures:
    redis.flushall()
    others.enqueue(python, peer, server.url, count)
    return measure(redis, count, lambda: others.start(python, peer, server.url, workers))


def rows_of(workers: int, peer: others.Peer, theirs: list[Figures], own: list[Figures]) -> list[Row]:
    """A peer's figures, and how ours are against them."""
    title = f"{peer.title}, {workers} worker(s)"
    pairs = list(zip(theirs, own, strict=True))
    rate = statistics.median(mine.rate / its.rate for its, mine in pairs)
    both = [(its.work + its.redis, mine.work + mine.redis) for its, mine in pairs]
    return [
        Row(f"{title}: jobops is … times as fast", statistics.median(its.rate for its in theirs), "jobs/s", rate),
        Row(
            f"{title}: processor, jobops takes … of it",
            statistics.median(its for its, _ in both),
            "µs/job",
            statistics.median(mine / its for its, mine in both),
        ),
    ]


def main() -> None:
    args = arguments(
        __doc__ or "",
        rounds=(3, "rounds, the median counts"),
        seconds=(3, "about how long each side works in a round"),
    )
    peers = {peer: others.python_of(peer) for peer in others.PEERS}
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis = Redis.from_url(server.url)
        redis_version = str(redis.info("server")["redis_version"])
        for workers in (1, 2):
            found: dict[others.Peer, list[Figures]] = {peer: [] for peer in (OURS, *peers)}
            for _ in range(args.rounds):
                found[OURS].append(of_ours(server, redis, workers, OURS.rate * args.seconds * workers))
                for peer, python in peers.items():
                    count = peer.rate * args.seconds * workers
                    found[peer].append(of_peer(python, peer, server, redis, workers, count))
            own = found.pop(OURS)
            rows.append(Row(f"jobops, {workers} worker(s)", statistics.median(each.rate for each in own), "jobs/s"))
            for name, pick in (("workers", lambda each: each.work), ("Redis", lambda each: each.redis)):
                value = statistics.median(pick(each) for each in own)
                rows.append(Row(f"jobops, {workers} worker(s): processor, {name}", value, "µs/job"))
            for peer, theirs in found.items():
                rows += rows_of(workers, peer, theirs, own)
    versions = {peer.name: others.version_of(peer) for peer in others.PEERS}
    show(rows, args.json, redis_version, versions)


if __name__ == "__main__":
    main()
