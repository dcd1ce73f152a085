"""A cut connection: Redis did what it was asked, and the answer never came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import exceptions

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from jobops.engine.records import Outcome
from jobops.engine.worker import RECYCLED
from tests.conftest import LANES
from tests.worker.crew import Crew
from tests.worker.cutting_proxy import CuttingProxy


@pytest.fixture
def proxy(redis_server: EmbeddedRedis, tmp_path: Path) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(tmp_path / "proxy", redis_server.url.removeprefix("unix://"))
    yield proxy
    proxy.close()


def test_every_answer_is_lost_once_and_each_job_runs_once(proxy: CuttingProxy, crew: Crew) -> None:
    """No claim takes two jobs, no settle finds its own success stale: the same number gets the same answer."""
    jobs = [crew.enqueue("nothing") for _ in range(60)]
    crew.url = proxy.url
    worker = crew.run_burst(processes=2)
    assert proxy.cut[b"EVALSHA"] > 60
    assert sorted(mark.job for mark in crew.marks("start")) == sorted(jobs)
    assert {(view.state, view.attempts) for view in map(crew.job, jobs)} == {("succeeded", 1)}
    assert "too late" not in worker.text()
    assert crew.running() == 0


def test_failures_retries_and_deaths_survive_lost_answers(proxy: CuttingProxy, crew: Crew) -> None:
    jobs = [crew.enqueue("fail", times=2, fields={"max_attempts": 3}) for _ in range(3)]
    doomed = [crew.enqueue("kill_itself", fields={"max_attempts": 2})]
    crew.url = proxy.url
    worker = crew.start(processes=2)
    for job in jobs:
        view = crew.wait_end(job, seconds=40)
        assert (view.state, view.attempts) == ("succeeded", 3)
        assert len(crew.marks("start", job)) == 3
    for job in doomed:
        view = crew.wait_end(job, seconds=40)
        assert (view.state, view.attempts, view.reason) == ("dead", 2, "worker_lost")
        assert len(crew.marks("start", job)) == 2
    assert worker.stop() == 0


def test_every_other_outcome_survives_lost_answers(proxy: CuttingProxy, crew: Crew, tmp_path: Path) -> None:
    """Postponed, discarded, dead at once: each is settled once, and counts as it should."""
    crew.tenant(cap=2)
    postponed = [crew.enqueue("postpone", times=2, calls=str(tmp_path / f"calls-{n}")) for n in range(3)]
    discarded = [crew.enqueue("discard") for _ in range(3)]
    poisoned = [crew.enqueue("poison") for _ in range(3)]
    crew.url = proxy.url
    worker = crew.start(processes=2)
    for job in postponed:
        view = crew.wait_end(job, seconds=40)
        assert (view.state, view.attempts) == ("succeeded", 1)
        assert len(crew.marks("start", job)) == 3
    for jobs, state in ((discarded, "discarded"), (poisoned, "dead")):
        for job in jobs:
            view = crew.wait_end(job, seconds=40)
            assert (view.state, view.attempts, len(crew.marks("start", job))) == (state, 1, 1)
    assert len(crew.engine.scripts.dead_batch()) == 3
    assert crew.running() == 0
    assert worker.stop() == 0
    assert "too late" not in worker.text()


def test_a_release_whose_answer_is_lost_gives_back_one_attempt(proxy: CuttingProxy, crew: Crew) -> None:
    job = crew.enqueue("sleep", seconds=60, fields={"max_attempts": 1})
    crew.url = proxy.url
    worker = crew.start(drain_timeout_s=0.2)
    crew.wait_mark("start", job)
    assert worker.stop() == 0
    view = crew.job(job)
    assert (view.state, view.attempts) == ("queued", 0)
    assert [attempt.outcome for attempt in view.history] == ["released"]


def test_a_slot_recycled_after_each_job_loses_none_to_lost_answers(proxy: CuttingProxy, crew: Crew) -> None:
    jobs = [crew.enqueue("nothing") for _ in range(5)]
    crew.url = proxy.url
    crew.run_burst(max_jobs=1)
    assert {(view.state, view.attempts) for view in map(crew.job, jobs)} == {("succeeded", 1)}
    assert len({mark.pid for mark in crew.marks("start")}) == 5
    assert RECYCLED != 0


def test_the_engine_itself_repeats_nothing(proxy: CuttingProxy, crew: Crew) -> None:
    """redis-py would send a command again after a cut connection. Ours must not: the caller does, with its number."""
    engine = Engine(connect(proxy.url), lanes=LANES)
    crew.enqueue("nothing")
    crew.enqueue("nothing")
    with pytest.raises(exceptions.ConnectionError, match="closed"):
        engine.scripts.claim("slot-a", 1, "w", ["bulk"])
    assert crew.running() == 1
    claim = engine.scripts.claim("slot-a", 1, "w", ["bulk"])
    assert crew.running() == 1
    assert claim.job is not None
    with pytest.raises(exceptions.ConnectionError, match="closed"):
        engine.scripts.settle("slot-a", 2, claim.job.id, claim.job.token, Outcome.succeeded())
    assert engine.scripts.settle("slot-a", 2, claim.job.id, claim.job.token, Outcome.succeeded()).outcome == "succeeded"
