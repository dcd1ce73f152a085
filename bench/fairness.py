"""Who waits, and who gets the workers: ours against RQ's round robin, in turns in one run, real workers and naps."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict

from redis import Redis
from rig import ours, theirs
from rig.notes import Notes
from rig.report import Row, arguments, show
from rig.waiting import end, until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

SLOTS = 4
QUIET = 20


def flood_ours(server: EmbeddedRedis, flood: int) -> list[float]:
    Redis.from_url(server.url).flushall()
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        engine = ours.engine_at(server.url)
        slugs = [f"quiet-{n}" for n in range(QUIET)]
        for slug in ["flood", *slugs]:
            engine.scripts.set_policy(Policy(slug, cap=None))
        now = time.time()
        ours.enqueue(
            engine, (ours.new_job("flood", "nap", seconds=0.01, enqueued=now, who="flood") for _ in range(flood))
        )
        worker = ours.start_worker(server.url, SLOTS, burst=False)
        try:
            until(lambda: len(notes.rows()) >= 100, 30, "the flood to run")
            for slug in slugs:
                ours.enqueue(engine, [ours.new_job(slug, "nap", seconds=0.005, enqueued=time.time(), who=slug)])
            until(lambda: len(notes.waits()) == QUIET, 60, "the quiet tenants' jobs")
            return notes.waits()
        finally:
            end([worker])


def flood_theirs(server: EmbeddedRedis, flood: int) -> list[float]:
    redis = Redis.from_url(server.url)
    redis.flushall()
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        slugs = [f"quiet-{n}" for n in range(QUIET)]
        now = time.time()
        calls = [{"seconds": 0.01, "enqueued": now, "who": "flood"}] * flood
        theirs.enqueue(theirs.queue_at(redis, "flood"), "nap", calls)
        workers = [theirs.start_worker(server.url, ["flood", *slugs], burst=False) for _ in range(SLOTS)]
        try:
            until(lambda: len(notes.rows()) >= 100, 30, "the flood to run")
            for slug in slugs:
                call = {"seconds": 0.005, "enqueued": time.time(), "who": slug}
                theirs.enqueue(theirs.queue_at(redis, slug), "nap", [call])
            until(lambda: len(notes.waits()) == QUIET, 60, "the quiet tenants' jobs")
            return notes.waits()
        finally:
            end(workers)


def shares(server: EmbeddedRedis, tenants: dict[str, tuple[float, float]], seconds: float) -> dict[str, float]:
    """Worker seconds per tenant, given as slug → (weight, run time in s), all backlogged throughout."""
    Redis.from_url(server.url).flushall()
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        engine = ours.engine_at(server.url)
        for slug, (weight, nap) in tenants.items():
            engine.scripts.set_policy(Policy(slug, weight=weight, cap=None))
            count = int(seconds * SLOTS / nap) + SLOTS
            ours.enqueue(engine, (ours.new_job(slug, "nap", seconds=nap, enqueued=0.0, who=slug) for _ in range(count)))
        worker = ours.start_worker(server.url, SLOTS, burst=False)
        try:
            until(notes.rows, 30, "the first job")
            time.sleep(seconds)
            until_at = time.time()
        finally:
            end([worker])
        used: dict[str, float] = defaultdict(float)
        for who, _, started, ended in notes.rows():
            used[who] += min(ended, until_at) - started
        return used


def main() -> None:
    args = arguments(
        __doc__ or "", rounds=(5, "rounds, the median counts"), flood=(5000, "jobs of the flooding tenant")
    )
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        pairs = [(flood_theirs(server, args.flood), flood_ours(server, args.flood)) for _ in range(args.rounds)]
        for name, pick in (("p50", statistics.median), ("max", max)):
            base = statistics.median(pick(pair[0]) for pair in pairs)
            best = statistics.median(pick(pair[1]) for pair in pairs)
            rows.append(Row(f"quiet tenant's wait beside a flood, {name}: rq round robin", base, "ms"))
            rows.append(Row(f"quiet tenant's wait beside a flood, {name}: jobops", best, "ms", best / base))
        used = shares(server, {"long": (1.0, 2.0), "short": (1.0, 0.01)}, 24)
        bound = SLOTS * (2.0 + 0.01)
        difference = abs(used["long"] - used["short"])
        rows.append(Row("equal weights, jobs of 2 s and of 10 ms: bound of the difference", bound, "s"))
        rows.append(Row("equal weights, jobs of 2 s and of 10 ms: difference", difference, "s", difference / bound))
        used = shares(server, {"one": (1.0, 0.02), "two": (2.0, 0.02), "five": (5.0, 0.02)}, 8)
        rows.append(Row("weights 1:2:5, worker time of 1", used["one"], "s"))
        rows.append(Row("weights 1:2:5, worker time of 2", used["two"], "s", used["two"] / used["one"]))
        rows.append(Row("weights 1:2:5, worker time of 5", used["five"], "s", used["five"] / used["one"]))
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
