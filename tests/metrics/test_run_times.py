"""How long runs took, by job type: from the engine's counters, with the slowest hundredth."""

from __future__ import annotations

import pytest

from jobops.contracts.job_type import JobType
from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.engine.keys import average_field
from jobops.engine.records import NewJob, Outcome, Policy
from jobops.metrics.run_times import read_run_times, run_times
from tests.contracts.catalogs import declare


@pytest.fixture
def send() -> JobType:
    with temporary_registry():
        return declare(aliases="old.send")


@pytest.mark.parametrize(
    ("buckets", "p99_s"),
    [
        ({}, None),
        ({3: 19}, None),
        ({3: 20}, 0.008),
        ({3: 99, 10: 1}, 0.008),
        ({3: 98, 10: 2}, 1.024),
        ({10: 2, 3: 98}, 1.024),
        ({0: 1000, 15: 11}, 32.768),
    ],
)
def test_the_slowest_hundredth_needs_enough_runs(buckets: dict[int, int], p99_s: float | None) -> None:
    found = run_times(buckets, None, 900.0)
    assert (found.runs, found.p99_s) == (sum(buckets.values()), p99_s)


def test_what_really_ran_is_counted(engine: Engine, send: JobType) -> None:
    engine.scripts.set_policy(Policy("acme"))
    for number in range(25):
        engine.scripts.enqueue(NewJob(f"job-{number}", "acme", "bulk", send.name, b"{}"))
        job = engine.scripts.claim("slot", 2 * number + 1, "w-1", ("bulk",), 0).job
        assert job is not None
        engine.scripts.settle("slot", 2 * number + 2, job.id, job.token, Outcome.succeeded())
    found = read_run_times(engine, [send], engine.scripts.now_ms())[send.name]
    assert found.runs == 25
    assert found.average_s is not None
    assert found.p99_s is not None
    assert 0 < found.average_s < 1
    assert 840 <= found.over_s < 900


def test_former_names_count_and_foreign_text_does_not(engine: Engine, send: JobType) -> None:
    minute = engine.scripts.now_ms() // 60_000
    counters = {"old.send|b4": 30, f"{send.name}|b5": 10, f"{send.name}|bogus": 5, f"{send.name}|b9999": 5}
    engine.redis.hset(engine.keys.minute(minute, "type"), mapping=counters)
    engine.redis.hset(engine.keys.cell(), average_field(send.name), "soon")
    found = read_run_times(engine, [send], minute * 60_000)[send.name]
    assert (found.runs, found.average_s, found.p99_s) == (40, None, 0.032)


def test_a_type_that_never_ran_has_no_times(engine: Engine, send: JobType) -> None:
    found = read_run_times(engine, [send], engine.scripts.now_ms())[send.name]
    assert (found.runs, found.average_s, found.p99_s) == (0, None, None)
