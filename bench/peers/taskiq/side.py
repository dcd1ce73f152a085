"""taskiq with its list broker, results off; the job is a coroutine, which it runs fastest."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from rig import marks
from rig.side import main
from taskiq_redis import ListQueueBroker

URL = "BENCH_URL"

broker = ListQueueBroker(os.environ.get(URL) or sys.argv[2])


@broker.task(task_name="mark")
async def mark() -> None:
    marks.mark()


def enqueue(_url: str, count: int) -> None:
    async def go() -> None:
        for _ in range(count):
            await mark.kiq()

    loop.run_until_complete(go())


def work(url: str, workers: int) -> None:
    os.chdir(Path(__file__).parent)
    command = ["-m", "taskiq", "worker", "side:broker", "--workers", str(workers), "--log-level", "CRITICAL"]
    os.execve(sys.executable, [sys.executable, *command], os.environ | {URL: url})


if __name__ == "__main__":
    loop = asyncio.new_event_loop()
    main(enqueue, work)
