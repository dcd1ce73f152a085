"""RQ's side: its SimpleWorker (no fork per job, its fastest), one process per slot, on one queue or round robin."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

from redis import Redis
from redis.client import Pipeline
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer
from rq.worker import RoundRobinWorker


class RoundRobinSimpleWorker(SimpleWorker):
    """Round robin over its queues, without a fork per job."""

    reorder_queues = RoundRobinWorker.reorder_queues


def queue_at(redis: Redis, name: str) -> Queue:
    """One of RQ's queues, with JSON as ours has."""
    return Queue(name, connection=redis, serializer=JSONSerializer)


def enqueue(queue: Queue, function: str, calls: list[dict[str, Any]], pipeline: Pipeline | None = None) -> None:
    """Takes all in, as fast as RQ can; with ``pipeline``, when that is executed."""
    data = [Queue.prepare_data(f"rig.work.{function}", kwargs=kwargs, timeout=30) for kwargs in calls]
    for first in range(0, len(data), 1000):
        queue.enqueue_many(data[first : first + 1000], pipeline=pipeline)


def start_worker(url: str, queues: list[str], *, burst: bool) -> subprocess.Popen[bytes]:
    """One worker process."""
    args = [sys.executable, "-m", "rig.theirs", url, "burst" if burst else "stay", *queues]
    return subprocess.Popen(args, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL)


def main() -> int:
    """What the worker process runs."""
    url, mode, *queues = sys.argv[1:]
    import rig.work  # noqa: F401  (imported before the clock runs, as on our side)

    logging.disable(logging.CRITICAL)
    worker_class = RoundRobinSimpleWorker if len(queues) > 1 else SimpleWorker
    redis = Redis.from_url(url)
    worker = worker_class([queue_at(redis, name) for name in queues], connection=redis, serializer=JSONSerializer)
    worker.work(burst=mode == "burst", logging_level="CRITICAL")
    return 0


if __name__ == "__main__":
    sys.exit(main())
