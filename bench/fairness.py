"""Who waits, and who gets the workers: ours against RQ's round robin, in turns in one run, real workers and naps."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable

from redis import Redis
from redis.client import Pipeline
from rig import ours, theirs
from rig.notes import Notes
from rig.report import Row, arguments, show
from rig.waiting import end, until

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import NewJob, Policy

SLOTS = 4
QUIET = 20
LOOK = 0.25  # seconds: whoever looks more often takes the processor from what is measured


def arrive(
    spread: float, slugs: list[str], one: Callable[[str, float], None], all_at_once: Callable[[list[str]], float]
) -> float | None:
    """The quiet tenants' jobs arrive: one every ``spread`` seconds, on both sides at the same pace, or (0) all at one
    instant, which is returned."""
    if not spread:
        return all_at_once(slugs)
    due = time.time()
    for slug in slugs:
        time.sleep(max(0.0, due - time.time()))
        one(slug, time.time())
        due += spread
    return None


def flood_ours(server: EmbeddedRedis, flood: int, spread: float) -> list[float]:
    Redis.from_url(server.url).flushall()
    engine = ours.engine_at(server.url)
    slugs = [f"quiet-{n}" for n in range(QUIET)]
    for slug in ["flood", *slugs]:
        engine.scripts.set_policy(Policy(slug, cap=None))

    def nap(slug: str, now: float, seconds: float = 0.005) -> NewJob:
        return ours.new_job(slug, "nap", seconds=seconds, enqueued=now, who=slug)

    def all_at_once(slugs: list[str]) -> float:
        jobs = [nap(slug, 0.0) for slug in slugs]
        now = time.time()
        ours.enqueue(engine, jobs)
        return now

    ours.enqueue(engine, (nap("flood", 0.0, 0.01) for _ in range(flood)))
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        worker = ours.start_worker(server.url, SLOTS, burst=False)
        try:
            until(lambda: len(notes.rows()) >= 100, 30, "the flood to run", every=LOOK)
            since = arrive(spread, slugs, lambda slug, now: ours.enqueue(engine, [nap(slug, now)]), all_at_once)
            until(lambda: len(notes.waits()) == QUIET, 60, "the quiet tenants' jobs", every=LOOK)
            return notes.waits(since)
        finally:
            end([worker])


def flood_theirs(server: EmbeddedRedis, flood: int, spread: float) -> list[float]:
    redis = Redis.from_url(server.url)
    redis.flushall()
    slugs = [f"quiet-{n}" for n in range(QUIET)]

    def one(slug: str, now: float, pipeline: Pipeline | None = None) -> None:
        call = {"seconds": 0.005, "enqueued": now, "who": slug}
        theirs.enqueue(theirs.queue_at(redis, slug), "nap", [call], pipeline)

    def all_at_once(slugs: list[str]) -> float:
        with redis.pipeline() as pipeline:  # over all queues
            for slug in slugs:
                one(slug, 0.0, pipeline)
            now = time.time()
            pipeline.execute()
        return now

    calls = [{"seconds": 0.01, "enqueued": 0.0, "who": "flood"}] * flood
    theirs.enqueue(theirs.queue_at(redis, "flood"), "nap", calls)
    with tempfile.TemporaryDirectory() as directory:
        notes = Notes(directory)
        workers = [theirs.start_worker(server.url, ["flood", *slugs], burst=False) for _ in range(SLOTS)]
        try:
            until(lambda: len(notes.rows()) >= 100, 30, "the flood to run", every=LOOK)
            since = arrive(spread, slugs, one, all_at_once)
            until(lambda: len(notes.waits()) == QUIET, 60, "the quiet tenants' jobs", every=LOOK)
            return notes.waits(since)
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
        if idle := [slug for slug in tenants if used[slug] <= 0]:
            raise SystemExit(f"no job of {', '.join(idle)} ran: that is no share")
        return used


def main() -> None:
    args = arguments(
        __doc__ or "", rounds=(5, "rounds, the median counts"), flood=(5000, "jobs of the flooding tenant")
    )
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        redis_version = str(Redis.from_url(server.url).info("server")["redis_version"])
        for spread, how in ((0.001, "one a millisecond"), (0.0, "all at once")):
            pairs = [
                (flood_theirs(server, args.flood, spread), flood_ours(server, args.flood, spread))
                for _ in range(args.rounds)
            ]
            for name, pick in (("p50", statistics.median), ("max", max)):
                base = statistics.median(pick(pair[0]) for pair in pairs)
                best = statistics.median(pick(pair[1]) for pair in pairs)
                rows.append(Row(f"quiet tenant's wait beside a flood, {how}, {name}: rq round robin", base, "ms"))
                rows.append(Row(f"quiet tenant's wait beside a flood, {how}, {name}: jobops", best, "ms", best / base))
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
