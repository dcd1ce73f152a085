"""A job that starts before its row can be seen waits a little; a row that stays away ends it without a dead letter."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist

from jobops import After, Backoff, job
from jobops.contracts.runner import ContractRunner
from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Outcome, Policy
from jobops.engine.timeouts import SoftTimeout
from tests.contracts.samples import GOOD, claimed, fresh_name


def missing() -> None:
    raise User.DoesNotExist("User matching query does not exist.")


def attempt(number: int, age_s: float, *, max_attempts: int = 5, error: Callable[[], None] = missing) -> Outcome:
    """How attempt `number` ends of a job enqueued `age_s` ago, which gives a missing row 30 s."""
    contract = {**GOOD, "backoff": Backoff.fixed("1h"), "discard_on": After("30s", ObjectDoesNotExist)}
    job_type = job(**contract, name=fresh_name())(error).job_type
    work = claimed(job_type, attempt=number, max_attempts=max_attempts, age_s=age_s)
    return ContractRunner().run(work, SoftTimeout())


def test_the_retries_of_a_fresh_row_come_soon_at_first_and_the_last_one_when_the_grace_is_over() -> None:
    """OB-06"""
    age, waits = 0.0, []
    for number in range(1, 5):
        outcome = attempt(number, age)
        assert (outcome.kind, outcome.cause) == ("failed", "error")
        waits.append(outcome.delay_ms / 1000)
        age += waits[-1]
    assert waits[0] < 5
    assert waits[0] < waits[1] < waits[2]
    assert 30 < age < 32
    assert attempt(5, age).kind == "discarded"


def test_a_row_that_was_deleted_is_discarded_and_no_poison() -> None:
    """OB-06"""
    outcome = attempt(1, 3_600)
    assert (outcome.kind, outcome.cause) == ("discarded", "")
    assert outcome.error_class.endswith("User.DoesNotExist")


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_worker_whose_wall_clock_is_off_judges_a_row_all_the_same(
    monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """MA-01: a job's age is a difference on Redis's clock alone. Hours ahead, every fresh row would be given up."""
    shown = time.time
    job_type = job(**GOOD, discard_on=After("30s", ObjectDoesNotExist), name=fresh_name())(missing).job_type
    fresh, old = claimed(job_type, age_s=1), claimed(job_type, age_s=3_600)
    monkeypatch.setattr(time, "time", lambda: shown() + hours * 3_600)
    assert ContractRunner().run(fresh, SoftTimeout()).kind == "failed"
    assert ContractRunner().run(old, SoftTimeout()).kind == "discarded"


def test_with_very_many_attempts_the_grace_is_no_hot_loop() -> None:
    age, number = 0.0, 0
    while attempt(number + 1, age, max_attempts=1_000).kind == "failed":
        number += 1
        age += attempt(number, age, max_attempts=1_000).delay_ms / 1000
    assert number < 50
    assert age < 33


def test_without_an_attempt_left_a_fresh_job_is_not_discarded() -> None:
    assert attempt(5, 1).kind == "failed"


def test_other_errors_keep_the_contracts_backoff() -> None:
    def broken() -> None:
        raise ValueError

    assert attempt(1, 0, error=broken).delay_ms == 3_600_000


def work_off(engine: Engine, until: Callable[[], bool]) -> list[str]:
    """Claims, runs and settles until the condition holds; how each attempt was settled."""
    settled: list[str] = []
    deadline = time.monotonic() + 20
    request = 0
    while not until():
        assert time.monotonic() < deadline, settled
        engine.scripts.promote()
        request += 1
        claim = engine.scripts.claim("slot-1", request, "worker-1", ["bulk"])
        if claim.job is None:
            engine.scripts.wait_for_wake(["bulk"], 20)
            continue
        outcome = ContractRunner().run(claim.job, SoftTimeout())
        request += 1
        settled.append(engine.scripts.settle("slot-1", request, claim.job.id, claim.job.token, outcome).outcome)
    return settled


@pytest.mark.parametrize("committed", [True, False])
def test_end_to_end_a_late_row_succeeds_and_a_deleted_one_is_discarded(engine: Engine, committed: bool) -> None:
    """OB-06"""
    began = time.monotonic()

    @job(**GOOD, name="late", discard_on=After("1500ms", ObjectDoesNotExist))
    def read() -> str:
        if committed and time.monotonic() - began > 0.5:
            return "found"
        raise User.DoesNotExist

    engine.scripts.set_lanes({"interactive": 4.0, "bulk": 1.0})
    engine.scripts.set_policy(Policy("acme"))
    engine.scripts.enqueue(NewJob("job1", "acme", "bulk", "late", encode("late", (), {})))
    wanted = "succeeded" if committed else "discarded"

    def over() -> bool:
        view = read_job(engine, "job1")
        return view is not None and view.state not in ("queued", "scheduled", "started")

    settled = work_off(engine, over)
    assert settled[-1] == wanted
    assert set(settled[:-1]) == {"retry"}
    assert engine.scripts.dead_batch() == []
