"""A plain RQ installation: its own Redis, its own queues, and its own worker in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from redis import Redis
from rq import Queue
from rq.job import Job
from rq.registry import FailedJobRegistry
from rq.serializers import JSONSerializer

from dlq.foreign.importing import take_over
from dlq.foreign.scripts import Commands
from dlq.foreign.sources import Source
from dlq.foreign.wish import Report, Wish
from jobops.embedded import EmbeddedRedis

CHARGE = "tests.dlq.foreign.plain_jobs.charge"
EXPLODE = "tests.dlq.foreign.plain_jobs.explode"

_WORK = """
import sys
from redis import Redis
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer
url, serializer, *names = sys.argv[1:]
redis = Redis.from_url(url)
chosen = {"serializer": JSONSerializer} if serializer == "json" else {}
queues = [Queue(name, connection=redis, **chosen) for name in names]
SimpleWorker(queues, connection=redis, **chosen).work(burst=True, logging_level="ERROR")
"""


@dataclass
class PlainRQ:
    """``source``: what we call it."""

    server: EmbeddedRedis
    redis: Redis
    source: Source

    @property
    def commands(self) -> Commands:
        return Commands(self.redis, "rq")

    def enqueue(self, name: str, *args: Any, queue: str = "default", json: bool = False, **options: Any) -> Job:
        chosen = {"serializer": JSONSerializer} if json else {}
        return Queue(queue, connection=self.redis, **chosen).enqueue(name, *args, **options)

    def work(self, *queues: str, json: bool = False, **env: str) -> None:
        """Its own worker does all that waits, and ends."""
        command = [sys.executable, "-c", _WORK, self.server.url, "json" if json else "pickle", *(queues or ["default"])]
        subprocess.run(command, env={**os.environ, **env}, check=True, timeout=60, capture_output=True)

    def failed(self, queue: str = "default") -> list[str]:
        """Ids in the queue's registry of failed jobs."""
        return FailedJobRegistry(queue, connection=self.redis).get_job_ids()

    def waiting(self, queue: str = "default") -> list[bytes]:
        return self.redis.lrange(f"rq:queue:{queue}", 0, -1)

    def take_over(self, **wish: Any) -> Report:
        return take_over(self.commands, Wish(source=self.source, by="command:tester", **wish))

    def copies(self, job: Job, count: int) -> None:
        """So many failed jobs like this one, which has failed."""
        fields, score = self.redis.hgetall(job.key), self.redis.zscore("rq:failed:default", job.id)
        results = self.redis.xrange(f"rq:results:{job.id}")
        with self.redis.pipeline(transaction=False) as pipe:
            for number in range(count):
                pipe.hset(f"rq:job:copy-{number}", mapping=fields)
                pipe.xadd(f"rq:results:copy-{number}", results[-1][1])
                pipe.zadd("rq:failed:default", {f"copy-{number}": score})
            pipe.execute()
