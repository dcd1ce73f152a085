"""The stage of the chaos test: workers and a scheduler as real processes, and a Redis; each may be killed or stopped at
any instant and is then started again, as a service manager would."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jobops.embedded import EmbeddedRedis
from jobops.engine.processes import is_alive
from tests.chaos.cast import LEASE_MS
from tests.tools import wait_for

ROOT = Path(__file__).parents[2]
WORKER = ("worker", "--processes", "2", "--drain-timeout", "5")
SCHEDULER = ("scheduler",)
NAP_SECONDS = LEASE_MS / 1000 + 1.5
OUTAGE_SECONDS = LEASE_MS / 1000 + 1.5


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
                [sys.executable, str(ROOT / "manage.py"), *self.arguments],
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


@dataclass
class Nap:
    """Processes that are stopped, or were: all of a worker, or all but its warden. Instants in ns; 0: not yet."""

    worker: Service
    pids: list[int]
    wakes_at: int
    woken_at: int = 0


class Theatre:
    """Runs the services and harms them. ``killed``: pid → instant of its SIGKILL (monotonic, ns). ``naps``: who was
    stopped for longer than a lease. ``acts``: how often each thing was done."""

    def __init__(
        self,
        redis: EmbeddedRedis,
        environment: dict[str, str],
        folder: Path,
        chance: random.Random,
        workers: int = 2,
    ) -> None:
        self.redis = redis
        self.killed: dict[int, int] = {}
        self.naps: list[Nap] = []
        self.acts: Counter[str] = Counter()
        self._chance = chance
        self._marks = Path(environment["JOBOPS_TEST_MARKS"])
        self.workers = [Service(WORKER, environment, folder / f"worker-{n}.log") for n in range(workers)]
        self.scheduler = Service(SCHEDULER, environment, folder / "scheduler.log")

    @property
    def services(self) -> list[Service]:
        return [*self.workers, self.scheduler]

    def act(self, what: str) -> None:
        """One thing that happens to somebody, and what a service manager does about it."""
        self.acts[what] += 1
        getattr(self, f"_{what}")()
        self.keep_up()

    def keep_up(self) -> None:
        """Wakes who has slept long enough, and starts again what has ended."""
        for nap in self.naps:
            if not nap.woken_at and time.monotonic_ns() >= nap.wakes_at:
                self._wake(nap)
        for service in self.services:
            if service.process.poll() is not None:
                service.start()

    def calm(self) -> None:
        """No more harm: whoever sleeps wakes."""
        for nap in self.naps:
            if not nap.woken_at:
                self._wake(nap)

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

    def _outage(self) -> None:
        """It comes back after all leases seem to be over."""
        self.redis.kill()
        time.sleep(OUTAGE_SECONDS)
        self.redis.start()

    def _nap(self) -> None:
        """SIGSTOP for longer than a lease, of the whole worker or all but the warden; others go on meanwhile. Rather of
        one that is in the middle of a long job."""
        asleep = {id(nap.worker) for nap in self.naps if not nap.woken_at}
        awake = [worker for worker in self.workers if id(worker) not in asleep]
        if len(awake) > 1:
            busy = self._busy()
            worker = self._chance.choice([worker for worker in awake if busy & {*worker.children()}] or awake)
            children = worker.children()
            pids = [worker.process.pid, *children[self._chance.choice([0, 1]) :]]
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            self.naps.append(Nap(worker, pids, time.monotonic_ns() + int(NAP_SECONDS * 1e9)))

    def _busy(self) -> set[int]:
        """The processes whose long jobs have just told that they live."""
        last = self._marks.read_bytes()[-1000:].decode().splitlines()[1:] if self._marks.exists() else []
        return {int(line.rpartition(" ")[2]) for line in last if line.startswith("tick ")}

    def _wake(self, nap: Nap) -> None:
        nap.woken_at = time.monotonic_ns()
        for pid in nap.pids:
            # A pid is the same process's still: it is our child or a child of one that was stopped.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _kill(self, pid: int) -> None:
        self._note([pid])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _note(self, pids: list[int]) -> None:
        for pid in pids:
            self.killed.setdefault(pid, time.monotonic_ns())

    def close(self) -> list[int]:
        """Stops all; the exit codes. Fails if a process of theirs is left."""
        self.calm()
        family = [pid for service in self.services for pid in service.children()]
        codes = [service.stop() for service in self.services]
        wait_for(lambda: not any(map(is_alive, family)), seconds=20, what="the end of all processes")
        return codes
