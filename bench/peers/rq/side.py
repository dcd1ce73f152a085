"""RQ as it comes: one fork for each job."""

from __future__ import annotations

import logging
import os

from redis import Redis
from rig.marks import mark
from rig.side import main
from rq import Queue, Worker


def enqueue(url: str, count: int) -> None:
    queue = Queue("bench", connection=Redis.from_url(url))
    for _ in range(count):
        queue.enqueue(mark)


def work(url: str, workers: int) -> None:
    for _ in range(workers - 1):
        if not os.fork():
            break
    logging.disable(logging.CRITICAL)
    redis = Redis.from_url(url)
    Worker([Queue("bench", connection=redis)], connection=redis).work(logging_level="CRITICAL")


if __name__ == "__main__":
    main(enqueue, work)
