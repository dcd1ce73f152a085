"""Results: how long they are kept, how large they may be, and what a handle says where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobops import Failure, Handle, JobFailed, Poison, ResultGone, ResultNotKept
from jobops.engine.client import Engine
from jobops.engine.payload import DEFAULT_LIMIT
from tests.runtime import effect_jobs, factory
from tests.runtime.attempts import WORKER, attempt, calling, enqueue
from tests.runtime.processes import running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def ttl_ms(engine: Engine, job_id: str) -> int:
    return int(engine.redis.pttl(f"rq:job:{job_id}"))


def test_a_result_is_kept_as_long_as_its_contract_says_and_then_it_is_gone(both: Engine) -> None:
    handle = Handle(enqueue(calling("results.brief", lambda: 5, result_ttl="1s")))
    assert ttl_ms(both, handle.id) == -1, "what has not ended does not expire"
    attempt(both)
    assert 0 < ttl_ms(both, handle.id) <= 1_000
    assert handle.result(timeout=1) == 5
    wait_for(lambda: not both.redis.exists(f"rq:job:{handle.id}"), what="its end")
    for ask in (handle.status, handle.progress, handle.failure, lambda: handle.result(timeout=1)):
        with pytest.raises(ResultGone):
            ask()  # type: ignore[operator]


def test_without_a_word_in_the_contract_it_is_an_hour(both: Engine) -> None:
    job_id = enqueue(calling("results.usual", lambda: 5))
    attempt(both)
    assert 3_500_000 < ttl_ms(both, job_id) <= 3_600_000


@pytest.mark.slow
def test_a_result_above_the_limit_is_not_kept_and_whoever_asks_is_told(both: Engine, tmp_path: Path) -> None:
    small, large = (enqueue(effect_jobs.text, size) for size in (1_000, DEFAULT_LIMIT))
    with running(tmp_path / "worker", "worker", **WORKER):
        assert len(Handle(small).result(timeout=40)) == 1_000
        with pytest.raises(ResultNotKept, match=f"job {large} succeeded, and its result is not kept"):
            Handle(large).result(timeout=40)
    assert Handle(large).status() == "succeeded"


def test_a_failure_is_told_with_its_cause(both: Engine) -> None:
    def fails() -> None:
        raise Poison("no such account")

    handle = Handle(enqueue(calling("results.fails", fails)))
    assert (handle.status(), handle.failure()) == ("queued", None)
    attempt(both)
    assert handle.failure() == Failure("dead", "jobops.Poison", "no such account", "poison", 1)
    with pytest.raises(JobFailed):
        handle.result(timeout=1)


def test_a_job_that_waits_for_a_limit_says_so(both: Engine) -> None:
    both.scripts.set_limit("only-in-results", 1, None)
    limited = calling("results.limited", lambda: 5, resource="only-in-results")
    first, second = enqueue(limited), enqueue(limited)
    assert factory.claim(both) is not None
    assert factory.claim(both) is None
    assert [Handle(job_id).status() for job_id in (first, second)] == ["started", "waiting"]
