"""Starts and kills real worker processes for tests, and reads what their jobs did."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.processes import is_alive
from jobops.engine.records import JobView, NewJob, Policy
from jobops.engine.worker_views import SlotView, SupervisorView, read_supervisors
from tests.tools import wait_for

ENDED = ("succeeded", "dead", "discarded", "cancelled")


@dataclass
class WorkerHandle:
    """A running `tests.worker.main`."""

    process: subprocess.Popen[bytes]
    log: Path
    stop_signals: int = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> list[int]:
        """Pids of its living children: the warden first, then the slots."""
        path = Path(f"/proc/{self.pid}/task/{self.pid}/children")
        return [int(pid) for pid in path.read_text().split()] if path.exists() else []

    def stop(self, seconds: float = 15) -> int:
        """SIGTERM, and its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def text(self) -> str:
        return self.log.read_text()


@dataclass(frozen=True)
class Mark:
    """One line that a job left."""

    word: str
    job: str
    attempt: int
    tenant: str
    at: float
    pid: int


@dataclass
class Crew:
    """An engine and the workers on it."""

    engine: Engine
    url: str
    folder: Path
    workers: list[WorkerHandle] = field(default_factory=list)

    @property
    def marks_file(self) -> Path:
        return self.folder / "marks"

    def tenant(self, slug: str = "acme", **policy: Any) -> None:
        self.engine.scripts.set_policy(Policy(slug, **policy))

    def start(self, *, env: Mapping[str, str] | None = None, **options: Any) -> WorkerHandle:
        """A worker: one slot, heartbeats of 0.5 s and leases of 3 s unless told otherwise."""
        options = {"url": self.url, "heartbeat_s": 0.5, "lease_s": 3.0, "grace_s": 1.0, "processes": 1, **options}
        log = self.folder / f"worker-{len(self.workers)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.worker.main", json.dumps(options)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        handle = WorkerHandle(process, log)
        self.workers.append(handle)
        return handle

    def run_burst(self, seconds: float = 60, **options: Any) -> WorkerHandle:
        """A worker in burst mode, to its end; it must exit 0."""
        handle = self.start(burst=True, **options)
        assert handle.process.wait(seconds) == 0, handle.text()
        return handle

    def enqueue(
        self, function: str, *, tenant: str = "acme", fields: Mapping[str, Any] | None = None, **kw: Any
    ) -> str:
        """A job of `functions.py`, that leaves marks. ``fields``: those of NewJob."""
        job = NewJob(
            **{
                "id": uuid4().hex,
                "tenant": tenant,
                "lane": "bulk",
                "job_type": function,
                "data": json.dumps({**kw, "marks": str(self.marks_file)}).encode(),
                "lease_ms": 3000,
                "max_attempts": 3,
                **(fields or {}),
            }
        )
        return self.engine.scripts.enqueue(job).id

    def job(self, job_id: str) -> JobView:
        view = read_job(self.engine, job_id)
        assert view is not None, f"{job_id} is gone"
        return view

    def wait_state(self, job_id: str, *states: str, seconds: float = 20) -> JobView:
        def reached() -> JobView | None:
            view = read_job(self.engine, job_id)
            return view if view is not None and view.state in states else None

        try:
            return wait_for(reached, seconds=seconds, what=f"{job_id} in {states}")
        except AssertionError as error:
            logs = "\n".join(worker.text() for worker in self.workers)
            raise AssertionError(f"{error}\nnow: {read_job(self.engine, job_id)}\n{logs}") from None

    def wait_end(self, job_id: str, *, seconds: float = 20) -> JobView:
        return self.wait_state(job_id, *ENDED, seconds=seconds)

    def marks(self, word: str = "", job_id: str = "") -> list[Mark]:
        if not self.marks_file.exists():
            return []
        marks = [Mark(*json.loads(line)) for line in self.marks_file.read_text().splitlines()]
        return [m for m in marks if (not word or m.word == word) and (not job_id or m.job == job_id)]

    def wait_mark(self, word: str, job_id: str, *, count: int = 1, seconds: float = 20) -> list[Mark]:
        return wait_for(
            lambda: marks if len(marks := self.marks(word, job_id)) >= count else None,
            seconds=seconds,
            what=f"{word} of {job_id}",
        )

    def supervisors(self) -> list[SupervisorView]:
        return read_supervisors(self.engine)

    def slots(self) -> list[SlotView]:
        return [slot for view in self.supervisors() for slot in view.slots]

    def wait_slots(self, count: int, *, seconds: float = 15) -> list[SlotView]:
        """Waits until exactly so many living slots are shown."""
        return wait_for(
            lambda: slots if len(slots := [s for s in self.slots() if s.state != "lost"]) == count else None,
            seconds=seconds,
            what=f"{count} slots",
        )

    def running(self, tenant: str = "acme") -> int:
        return int(self.engine.redis.zcard(self.engine.keys.inflight(tenant)))

    def close(self) -> None:
        """Kills whatever still lives, and fails if one of theirs outlives them."""
        family = [pid for worker in self.workers for pid in (worker.pid, *worker.children())]
        for worker in self.workers:
            if worker.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGCONT)
                worker.kill()
        wait_for(lambda: not [pid for pid in family if is_alive(pid)], seconds=40, what="the end of all processes")
