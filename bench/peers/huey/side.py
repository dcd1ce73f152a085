"""Huey with processes as workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from huey import RedisHuey
from rig import marks
from rig.side import main

URL = "BENCH_URL"

huey = RedisHuey("bench", url=os.environ.get(URL) or sys.argv[2])


@huey.task(name="mark")
def mark() -> None:
    marks.mark()


def enqueue(_url: str, count: int) -> None:
    for _ in range(count):
        mark()


def work(url: str, workers: int) -> None:
    os.chdir(Path(__file__).parent)
    command = ["-m", "huey.bin.huey_consumer", "side.huey", "--workers", str(workers), "--worker-type", "process", "-q"]
    os.execve(sys.executable, [sys.executable, *command], os.environ | {URL: url})


if __name__ == "__main__":
    # A task is named after its module: the consumer knows this one as `side`.
    import side

    main(side.enqueue, side.work)
