"""Progress: for people, cheap, and never worth a failure."""

from __future__ import annotations

from typing import Any

import pytest

from jobops import InvalidJob, NotInstalled, current_job
from jobops.context import lease, progress
from jobops.contracts.handles import Handle
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts
from tests.runtime import factory
from tests.runtime.attempts import attempt, calling, enqueue, run
from tests.runtime.conftest import Outage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What goes to Redis."""
    seen: list[tuple[int, int]] = []
    save = Scripts.save_progress

    def noted(self: Scripts, job_id: str, token: str, done: int, total: int) -> bool:
        seen.append((done, total))
        return save(self, job_id, token, done, total)

    monkeypatch.setattr(Scripts, "save_progress", noted)
    return seen


def test_a_thousand_steps_are_two_writes_and_the_last_one_is_not_lost(
    both: Engine, sent: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 3_600.0)

    def steps() -> None:
        for done in range(1, 1_001):
            current_job().progress(done, 1_000)

    job_id = enqueue(calling("effects.steps", steps))
    assert attempt(both)[2] == "succeeded"
    assert sent == [(1, 1_000), (1_000, 1_000)]
    assert Handle(job_id).progress() == (1_000, 1_000)


def test_the_last_one_before_a_failure_is_kept_too(both: Engine) -> None:
    def fails() -> None:
        for done in range(1, 401):
            current_job().progress(done, 1_000)
        raise ValueError("no")

    job_id = enqueue(calling("effects.fails", fails))
    assert attempt(both)[2] == "retry"
    assert Handle(job_id).progress() == (400, 1_000)


def test_redis_away_is_no_failure_of_the_job(outage: Outage, sent: list[tuple[int, int]]) -> None:
    def goes_on() -> str:
        outage.begin()
        for done in range(1_000):
            current_job().progress(done, 1_000)
        return "done"

    enqueue(calling("effects.goes_on", goes_on))
    claimed = factory.claim(outage.engine)
    assert claimed is not None
    assert run(claimed).kind == "succeeded"
    assert 1 <= len(sent) < 20
    outage.end()


def test_a_leftover_is_not_kept_from_ending_by_its_last_progress(both: Engine, caplog: Any) -> None:
    job_id = enqueue(calling("effects.nothing", lambda: None))
    claimed = factory.claim(both)
    assert claimed is not None
    stale = RunningJob(job_id, "acme", "bulk", "t", 1, 5, "c", token="another")
    with running(stale):
        stale.saved.progress_at = float("inf")  # so that nothing is sent before its end
        current_job().progress(1, 2)
    assert Handle(job_id).progress() is None


BAD = [(-1, 5, "done"), (1, -5, "total"), (1.5, 5, "done"), (1, None, "total"), (True, 5, "done"), ("1", 5, "done"),
       (1, 2**53, "total")]  # fmt: skip


@pytest.mark.parametrize(("done", "total", "field"), BAD)
def test_a_number_that_is_none_is_named(done: Any, total: Any, field: str) -> None:
    plain = RunningJob("job-1", "acme", "bulk", "t", 1, 5, "c")
    with running(plain), pytest.raises(InvalidJob, match=f"^{field}: .* give a whole number from 0"):
        current_job().progress(done, total)


def test_without_a_lease_it_stays_in_memory() -> None:
    with running(RunningJob("job-1", "acme", "bulk", "t", 1, 5, "c")) as job:
        current_job().progress(4, 10)
        assert job.saved.progress == (4, 10)


def test_outside_of_an_installation_what_is_saved_has_nowhere_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "_source", None)
    leased = RunningJob("job-1", "acme", "bulk", "t", 1, 5, "c", token="t")
    with running(leased), pytest.raises(NotInstalled, match="jobops has no engine"):
        current_job().checkpoint(1)
