"""An empty registry, a recording enqueuer and the default configuration for every test of contracts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from jobops.contracts import config, discovery, enqueuer
from jobops.contracts.registry import Registry, temporary_registry
from jobops.engine.errors import EnqueueRefused
from jobops.engine.payload import decode
from jobops.engine.records import Enqueued, NewJob


class Recorder:
    """Takes jobs in by remembering them; `refusals` are given out first, in order."""

    def __init__(self) -> None:
        self.jobs: list[NewJob] = []
        self.refusals: list[EnqueueRefused] = []

    def enqueue(self, job: NewJob) -> Enqueued:
        if self.refusals:
            raise self.refusals.pop(0)
        self.jobs.append(job)
        return Enqueued(job.id, "scheduled" if job.delay_ms or job.due_at_ms else "queued")

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[Enqueued | EnqueueRefused]:
        return [self.refusals.pop(0) if self.refusals else self.enqueue(job) for job in jobs]

    @property
    def job(self) -> NewJob:
        """The last one."""
        return self.jobs[-1]

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Those of the last one."""
        return decode(self.job.data)[1:]


@pytest.fixture(autouse=True)
def registered() -> Iterator[Registry]:
    with temporary_registry() as registry:
        yield registry


@pytest.fixture(autouse=True)
def configured() -> Iterator[None]:
    before = config.config()
    config.configure(config.ContractConfig())
    yield
    config.configure(before)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(enqueuer, "_enqueuer", recorder)
    return recorder


@pytest.fixture(autouse=True)
def nothing_stays_unimportable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test's discovery could not import is forgotten after it: checks and the catalog read it later."""
    monkeypatch.setattr(discovery, "_faults", discovery._faults)
