"""The cast of the chaos test: two workers and a scheduler as real processes, and a Redis; each may be killed at any
instant and is then started again, as a service manager would."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

from jobops.embedded import EmbeddedRedis
from jobops.engine.processes import is_alive
from tests.tools import wait_for

WORKER = ("worker", "--processes", "2", "--drain-timeout", "5")
SCHEDULER = ("scheduler",)


@dataclass
class Service:
    """One `manage.py …`, started again whenever it is down."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(settings.BASE_DIR / "manage.py"), *self.arguments],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def children(self) -> list[int]:
        try:
            return [
                int(pid)
                for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            ]
        except FileNotFoundError:
            return []

    def stop(self, seconds: float = 20) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Theatre:
    """Runs the services and kills them. ``killed``: pid → instant of its SIGKILL (monotonic, ns)."""

    def __init__(self, redis: EmbeddedRedis, environment: dict[str, str], folder: Path, chance: random.Random) -> None:
        self.redis = redis
        self.killed: dict[int, int] = {}
        self.acts: list[str] = []
        self._chance = chance
        self.workers = [Service(WORKER, environment, folder / f"worker-{n}.log") for n in range(2)]
        self.scheduler = Service(SCHEDULER, environment, folder / "scheduler.log")

    @property
    def services(self) -> list[Service]:
        return [*self.workers, self.scheduler]

    def act(self, what: str) -> None:
        """One kill -9, and what a service manager does about it."""
        self.acts.append(what)
        getattr(self, f"_{what}")()
        self.keep_up()

    def keep_up(self) -> None:
        """Starts again what has ended: one that was started while Redis was down says so and ends."""
        for service in self.services:
            if service.process.poll() is not None:
                service.start()

    def _slot(self) -> None:
        worker = self._chance.choice(self.workers)
        slots = worker.children()[1:]
        if slots:
            self._kill(self._chance.choice(slots))

    def _supervisor(self) -> None:
        """Its slots go down with it; the warden reports them."""
        worker = self._chance.choice(self.workers)
        self._note(worker.children()[1:])
        worker.process.kill()
        worker.process.wait()
        worker.start()

    def _machine(self) -> None:
        """Supervisor, warden and slots at once: nobody is left to report anything."""
        worker = self._chance.choice(self.workers)
        children = worker.children()
        os.kill(worker.process.pid, signal.SIGSTOP)
        for pid in children:
            self._kill(pid)
        worker.process.kill()
        worker.process.wait()
        worker.start()

    def _scheduler(self) -> None:
        self.scheduler.process.kill()
        self.scheduler.process.wait()
        self.scheduler.start()

    def _redis(self) -> None:
        """Restarted on its append-only file."""
        self.redis.kill()
        time.sleep(self._chance.uniform(0, 0.3))
        self.redis.start()

    def _kill(self, pid: int) -> None:
        self._note([pid])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _note(self, pids: list[int]) -> None:
        for pid in pids:
            self.killed.setdefault(pid, time.monotonic_ns())

    def close(self) -> list[int]:
        """Stops all; the exit codes. Fails if a process of theirs is left."""
        family = [pid for service in self.services for pid in service.children()]
        codes = [service.stop() for service in self.services]
        wait_for(lambda: not any(map(is_alive, family)), seconds=20, what="the end of all processes")
        return codes
