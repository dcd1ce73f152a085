"""How many jobs a second one process enqueues, one by one and in batches, beside RQ's own: in turns in one run.

Ours by the public call, ``job.using(tenant=…).enqueue()``, with Django, contract checks and the outbox's look at the
transaction; RQ's by ``Queue.enqueue()`` and ``Queue.enqueue_many()``. Nobody works meanwhile.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from intake import prepare_django
from redis import Redis
from rig import ours, theirs
from rig.report import Row, arguments, show

from jobops.embedded import EmbeddedRedis
from jobops.engine.records import Policy

BATCH = 1000
QUEUE = "acme.bulk"


def per_second(redis: Redis, count: int, enqueue: Callable[[int], object]) -> float:
    """Jobs a second that ``enqueue(count)`` takes in. Raises RuntimeError when they are not all there."""
    began = time.perf_counter()
    enqueue(count)
    took = time.perf_counter() - began
    if redis.llen(f"rq:queue:{QUEUE}") != count:
        raise RuntimeError(f"of {count} jobs {redis.llen(f'rq:queue:{QUEUE}')} are in the queue")
    return count / took


def sides(url: str) -> tuple[dict[str, Callable[[int], object]], dict[str, Callable[[int], object]]]:
    """Theirs and ours, by way of enqueueing."""
    import rig.work

    queue = theirs.queue_at(Redis.from_url(url), QUEUE)
    call: Any = rig.work.noop.using(tenant="acme", lane="bulk")  # type: ignore[attr-defined]

    def rq_one_by_one(count: int) -> None:
        for _ in range(count):
            queue.enqueue("rig.work.noop", job_timeout=30)

    def ours_one_by_one(count: int) -> None:
        for _ in range(count):
            call.enqueue()

    def ours_in_batches(count: int) -> None:
        for first in range(0, count, BATCH):
            call.enqueue_many([{}] * min(BATCH, count - first))

    return (
        {"one by one": rq_one_by_one, "in batches": lambda count: theirs.enqueue(queue, "noop", [{}] * count)},
        {"one by one": ours_one_by_one, "in batches": ours_in_batches},
    )


def main() -> None:
    args = arguments(__doc__ or "", rounds=(7, "rounds, the median counts"), jobs=(4000, "jobs of each side per round"))
    rows = []
    with tempfile.TemporaryDirectory() as directory, EmbeddedRedis(directory) as server:
        os.environ["JOBOPS_REDIS_URL"] = server.url
        prepare_django(Path(directory))
        redis = Redis.from_url(server.url)
        redis_version = str(redis.info("server")["redis_version"])
        base, own = sides(server.url)
        for way in base:
            pairs = []
            for _ in range(args.rounds):
                redis.flushall()
                before = per_second(redis, args.jobs, base[way])
                redis.flushall()
                ours.engine_at(server.url).scripts.set_policy(Policy("acme", cap=None))
                pairs.append((before, per_second(redis, args.jobs, own[way])))
            ratio = statistics.median(pair[1] / pair[0] for pair in pairs)
            rows.append(Row(f"enqueue {way}: rq", statistics.median(pair[0] for pair in pairs), "jobs/s"))
            rows.append(Row(f"enqueue {way}: jobops", statistics.median(pair[1] for pair in pairs), "jobs/s", ratio))
    show(rows, args.json, redis_version)


if __name__ == "__main__":
    main()
