"""dramatiq: one process of eight threads for each worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from rig import marks
from rig.side import main

URL = "BENCH_URL"
THREADS = 8

dramatiq.set_broker(RedisBroker(url=os.environ.get(URL) or sys.argv[2]))


@dramatiq.actor(actor_name="mark")
def mark() -> None:
    marks.mark()


def enqueue(_url: str, count: int) -> None:
    for _ in range(count):
        mark.send()


def work(url: str, workers: int) -> None:
    os.chdir(Path(__file__).parent)
    command = ["-m", "dramatiq", "side", "--processes", str(workers), "--threads", str(THREADS)]
    os.execve(sys.executable, [sys.executable, *command], os.environ | {URL: url})


if __name__ == "__main__":
    main(enqueue, work)
