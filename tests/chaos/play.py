"""One chaos run: jobs come in while something is harmed again and again; then all is left in peace, and must end."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from redis.exceptions import RedisError

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine
from jobops.engine.jobs import read_jobs
from jobops.engine.link import is_away
from jobops.engine.records import Enqueued, NewJob
from jobops.engine.worker_views import read_supervisors
from tests.chaos.cast import LEASE_MS
from tests.chaos.judgement import Evidence
from tests.chaos.theatre import ROOT, Theatre
from tests.chaos.verdict import read_lines
from tests.tools import wait_for

HARM = {"slot": 30, "supervisor": 16, "machine": 16, "scheduler": 12, "redis": 12, "nap": 12, "outage": 2}
"""What happens, and how often."""
T = TypeVar("T")
BATCH = 50
DRAIN_SECONDS = 180.0


class Play:
    """``jobs`` come in over ``seconds``, in which something happens every ``pause_s``. ``marks`` is the file that the
    jobs write to; ``environment`` that of the services."""

    def __init__(
        self, engine: Engine, redis: EmbeddedRedis, environment: dict[str, str], folder: Path, chance: random.Random
    ) -> None:
        self.engine = engine
        self.environment = environment
        self.marks = folder / "marks"
        self.chance = chance
        self.redis = redis
        self.folder = folder
        self._calm = threading.Event()
        self.harmed_s = 0.0
        self.drained_s = 0.0

    def run(
        self,
        jobs: list[NewJob],
        caps: dict[str, int],
        *,
        seconds: float,
        pause_s: float = 1.0,
        workers: int = 3,
        harm: Sequence[str] | None = None,
    ) -> tuple[Evidence, Theatre]:
        """Plays it; ``harm``: what to do in which order, instead of drawing it."""
        evidence = Evidence(jobs, caps)
        theatre = Theatre(self.redis, self.environment, self.folder, self.chance, workers)
        over = threading.Event()
        helpers = [
            threading.Thread(target=self._enqueue, args=(evidence, seconds, over)),
            threading.Thread(target=self._watch, args=(evidence, over)),
        ]
        try:
            wait_for(lambda: self._up() == workers, seconds=60, what="all workers")
            for helper in helpers:
                helper.start()
            self._harm(theatre, seconds, pause_s, harm)
            theatre.calm()
            self._calm.set()
            helpers[0].join()
            began = time.monotonic()
            wait_for(lambda: self._is_over(theatre, evidence), seconds=DRAIN_SECONDS, what="the end of all jobs")
            self.drained_s = time.monotonic() - began
            # A process that is just starting has no ear yet for the signal that ends it in good order.
            wait_for(lambda: self._is_whole(theatre, workers), seconds=60, what="all workers")
            evidence.doctor = self._doctor()
        finally:
            over.set()
            self._calm.set()
            for helper in helpers:
                if helper.ident is not None:
                    helper.join()
            codes = theatre.close()
        evidence.left += [f"exit code {code}" for code in codes if code] + left_over(self.engine, caps)
        views = [view for at in range(0, len(jobs), 500) for view in read_jobs(self.engine, ids(jobs[at : at + 500]))]
        evidence.views = {view.id: view for view in views}
        evidence.lines, evidence.killed, evidence.naps = read_lines(self.marks), theatre.killed, theatre.naps
        return evidence, theatre

    def _harm(self, theatre: Theatre, seconds: float, pause_s: float, harm: Sequence[str] | None) -> None:
        began = time.monotonic()
        number = 0
        while time.monotonic() - began < seconds if harm is None else number < len(harm):
            kind = self.chance.choices(list(HARM), list(HARM.values()))[0] if harm is None else harm[number]
            due = began + (number + self.chance.uniform(0.5, 1.0)) * pause_s
            time.sleep(max(0.0, due - time.monotonic()))
            theatre.act(kind)
            number += 1
        self.harmed_s = time.monotonic() - began

    def _enqueue(self, evidence: Evidence, seconds: float, over: threading.Event) -> None:
        """A little faster than the harm, so that it meets a backlog; the last ones when that is over. What was not
        answered is sent again."""
        batches = [evidence.jobs[at : at + BATCH] for at in range(0, len(evidence.jobs), BATCH)]
        for batch in batches:
            if batch is batches[-1]:
                self._calm.wait()
            answers = _insist(lambda batch=batch: self.engine.scripts.enqueue_many(batch), over)  # type: ignore[misc]
            for job, answer in zip(batch, answers, strict=True):
                if isinstance(answer, Exception):
                    evidence.left.append(f"{job.id} was refused: {answer}")
                elif isinstance(answer, Enqueued) and answer.id != job.id:
                    evidence.coalesced.add(job.id)
            over.wait(0.7 * seconds / len(batches))

    def _watch(self, evidence: Evidence, over: threading.Event) -> None:
        """How many are in flight, of all tenants and of the resource at one instant, again and again."""
        keys, names = self.engine.keys, list(evidence.caps)
        while not over.wait(0.02):
            try:
                with self.engine.redis.pipeline() as pipe:
                    for name in names:
                        pipe.zcard(keys.inflight(name))
                    pipe.zcard(keys.inflight_resource("narrow"))
                    counts = pipe.execute()
            except RedisError:
                continue
            for name, count in zip([*names, "narrow"], counts, strict=True):
                evidence.seen[name] = max(count, evidence.seen.get(name, 0))

    def _is_over(self, theatre: Theatre, evidence: Evidence) -> bool:
        theatre.keep_up()
        try:
            with self.engine.redis.pipeline(transaction=False) as pipe:
                for job in evidence.ran:
                    pipe.hget(f"rq:job:{job.id}", "status")
                states = Counter(pipe.execute())
        except RedisError:
            return False
        time.sleep(0.2)
        return not set(states) - {b"finished", b"failed"}

    def _up(self) -> int:
        return [worker.state for worker in read_supervisors(self.engine)].count("running")

    def _is_whole(self, theatre: Theatre, workers: int) -> bool:
        theatre.keep_up()
        shown = [worker.state for worker in read_supervisors(self.engine)]
        return shown == ["running"] * workers and bool(self.engine.redis.get(self.engine.keys.lock("scheduler")))

    def _doctor(self) -> list[str]:
        """What `manage.py doctor` finds wrong; once more a little later, as deaths may still be on their way."""
        command = [sys.executable, str(ROOT / "manage.py"), "doctor", "--json"]
        for _ in range(3):
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return []
            time.sleep(3)
        findings = json.loads(done.stdout)["findings"] if done.stdout.startswith("{") else [done.stderr[-1000:]]
        return [str(finding) for finding in findings]


def ids(jobs: list[NewJob]) -> list[str]:
    return [job.id for job in jobs]


def left_over(engine: Engine, caps: dict[str, int]) -> list[str]:
    """What Redis still holds though nothing runs and nothing waits."""
    redis, keys = engine.redis, engine.keys
    counts = {"leases": redis.zcard(keys.leases()), "delayed": redis.zcard("rq:scheduler:scheduled_jobs")}
    counts |= {"RQ workers": redis.scard("rq:workers"), "narrow": redis.zcard(keys.inflight_resource("narrow"))}
    for tenant in caps:
        counts[f"in flight of {tenant}"] = redis.zcard(keys.inflight(tenant))
        for lane in engine.lanes:
            queue = f"{tenant}.{lane}"
            counts |= {f"waiting in {queue}": redis.llen(f"rq:queue:{queue}")}
            counts |= {f"wip of {queue}": redis.zcard(f"rq:wip:{queue}")}
    return [f"{name}: {count}" for name, count in counts.items() if count]


def _insist(action: Callable[[], T], over: threading.Event) -> T:
    """Does it until it gets through."""
    while True:
        try:
            return action()
        except RedisError as error:
            if not is_away(error) or over.wait(0.2):
                raise


def environment(database: str, redis: str, folder: Path) -> dict[str, str]:
    """What the services of a run are given: short leases, so that they can be outlived."""
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "jobops.settings",
        "DATABASE_URL": database,
        "JOBOPS_REDIS_URL": redis,
        "JOBOPS_JOB_MODULES": "tests.chaos.jobs",
        "JOBOPS_LEASE_SECONDS": str(LEASE_MS / 1000),
        "JOBOPS_HEARTBEAT_SECONDS": "0.5",
        "JOBOPS_LOG_LEVEL": "INFO",
        "JOBOPS_TEST_MARKS": str(folder / "marks"),
    }
