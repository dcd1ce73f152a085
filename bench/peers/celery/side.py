"""Celery with its prefork pool, results off."""

from __future__ import annotations

from celery import Celery
from rig import marks
from rig.side import main

app = Celery("side")
app.conf.task_ignore_result = True


@app.task(name="mark")
def mark() -> None:
    marks.mark()


def at(url: str) -> None:
    app.conf.broker_url = url.replace("unix://", "redis+socket://")


def enqueue(url: str, count: int) -> None:
    at(url)
    for _ in range(count):
        mark.delay()


def work(url: str, workers: int) -> None:
    at(url)
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "CRITICAL"]
    app.worker_main(["worker", "--pool", "prefork", "--concurrency", str(workers), *quiet])


if __name__ == "__main__":
    main(enqueue, work)
