"""Run now: a delayed job goes to its queue before its time, and nothing but its delay is lifted."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, dump, job, queued, status


def test_a_delayed_job_goes_to_its_queue_at_once(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("first"), job("later", delay_ms=3_600_000)])
    assert scripts.run_now("later") == "queued"
    assert queued(engine) == ["first", "later"]
    assert engine.redis.zcard(RQ_SCHEDULED) == 0
    assert scripts.run_now("later") == "not_scheduled"
    assert queued(engine) == ["first", "later"]


def test_a_job_that_backs_off_runs_as_its_next_attempt(scripts: Scripts) -> None:
    scripts.enqueue(job("a", front=True))
    slot = Slot(scripts)
    slot.run(Outcome.failed("error", "E", "e", delay_ms=3_600_000))
    assert slot.claim() is None
    assert scripts.run_now("a") == "queued"
    assert slot.need().attempt == 2


def test_it_wakes_a_slot_that_sleeps(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", delay_ms=3_600_000))
    Slot(scripts).claim()
    scripts.run_now("a")
    assert engine.redis.llen(engine.keys.wake("bulk")) == 1


def test_caps_and_pauses_still_hold(scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=1, version=1))
    scripts.enqueue_many([job("a"), job("b", delay_ms=3_600_000)])
    Slot(scripts, "one").need()
    scripts.run_now("b")
    assert Slot(scripts, "two").claim() is None
    scripts.set_policy(Policy("acme", cap=None, paused=True, version=2))
    assert Slot(scripts, "three").claim() is None


@pytest.mark.parametrize("job_id", ["queued", "running", "done", "nothing"])
def test_what_is_not_delayed_is_left_as_it_is(engine: Engine, scripts: Scripts, job_id: str) -> None:
    scripts.enqueue(job("done"))
    Slot(scripts).run()
    scripts.enqueue_many([job("running"), job("queued")])
    Slot(scripts, "other").need()
    before = dump(engine.redis)
    assert scripts.run_now(job_id) == ("not_found" if job_id == "nothing" else "not_scheduled")
    assert dump(engine.redis) == before


def test_another_tenants_job_is_not_found(engine: Engine, scripts: Scripts) -> None:
    """SE-05"""
    scripts.enqueue(job("a", delay_ms=3_600_000))
    before = dump(engine.redis)
    assert scripts.run_now("a", "beta") == "not_found"
    assert dump(engine.redis) == before
    assert scripts.run_now("a", "acme") == "queued"
    assert status(engine, "a") == "queued"
