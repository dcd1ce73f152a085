"""Postponed: the job could not do its work now. Its attempt is given back, a hundred times at most."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.keys import average_field
from jobops.engine.queues import minute_counters, type_counters
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, job, make_due, running, status

LATER = Outcome.postponed(60_000, "Busy", "come again")


def test_it_comes_again_after_its_time_as_the_same_attempt(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    slot = Slot(scripts)
    before = scripts.now_ms()
    assert slot.run(LATER) == "postponed"
    due = engine.redis.zscore("rq:scheduler:scheduled_jobs", "a") * 1000
    assert before + 60_000 <= due <= scripts.now_ms() + 60_000
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.attempts, view.error_class, view.error) == ("scheduled", 0, "Busy", "come again")
    assert running(engine) == 0
    make_due(engine, "a")
    scripts.promote()
    claimed = slot.need()
    assert (claimed.attempt, claimed.max_attempts) == (1, 1)
    assert slot.settle().outcome == "succeeded"


@pytest.mark.parametrize("brake", [False, True])
def test_after_a_hundred_times_it_is_an_error_like_any(engine: Engine, scripts: Scripts, brake: bool) -> None:
    """I6: nothing comes again for ever. The attempts that are left come first, then death."""
    scripts.set_limit("stripe", None, None)
    scripts.enqueue(job("a", max_attempts=2, resource="stripe"))
    slot = Slot(scripts)
    told = Outcome.postponed(0, "Busy", "come again", brake=brake)
    outcomes = []
    while len(outcomes) < 150 and "dead" not in outcomes:
        outcomes.append(slot.run(told))
        scripts.promote()
    assert outcomes == ["postponed"] * 100 + ["retry", "dead"]
    view = read_job(engine, "a")
    assert view is not None
    assert (view.reason, view.error_class, view.error, view.attempts) == ("exhausted", "Busy", "come again", 2)


@pytest.mark.parametrize("brake", [False, True])
def test_one_whose_tenant_was_deleted_meanwhile_dies(engine: Engine, scripts: Scripts, brake: bool) -> None:
    scripts.enqueue(job("a", max_attempts=9))
    slot = Slot(scripts)
    slot.need()
    scripts.drop_policy("acme")
    assert slot.settle(outcome=Outcome.postponed(1_000, "Busy", "later", brake=brake)).outcome == "dead"


def test_one_whose_slug_is_another_customers_by_now_dies(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", uid="1", version=1))
    scripts.enqueue(job("a", max_attempts=9))
    slot = Slot(scripts)
    slot.need()
    scripts.drop_policy("acme")
    scripts.set_policy(Policy("acme", uid="2", version=1))
    assert slot.settle(outcome=LATER).outcome == "dead"


def test_one_whose_record_vanished_dies_and_does_not_come_again_empty(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=9))
    slot = Slot(scripts)
    slot.need()
    engine.redis.delete("rq:job:a")
    assert slot.settle(outcome=LATER).outcome == "dead"


def test_a_stale_token_postpones_nothing_and_brakes_nobody(engine: Engine, scripts: Scripts) -> None:
    """I3."""
    scripts.set_limit("stripe", None, None)
    scripts.enqueue_many([job("a", resource="stripe"), job("b", resource="stripe")])
    slot = Slot(scripts)
    slot.need()
    settled = scripts.settle("x", 1, "a", "0" * 24, Outcome.postponed(60_000, "Busy", brake=True))
    assert (settled.outcome, status(engine, "a")) == ("stale", "started")
    assert Slot(scripts, "other").need().id == "b"


def test_it_is_counted_as_what_it_is_and_teaches_nothing_about_run_times(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).run(LATER)
    assert not engine.redis.hexists(engine.keys.cell(), average_field("t.work"))
    assert type_counters(engine) == {}
    counters = minute_counters(engine)["acme"]
    assert (counters.starts, counters.retries, counters.dead) == (1, 0, 0)


def test_the_next_job_can_be_claimed_in_the_same_call(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job("a", resource="stripe"), job("b", resource="stripe"), job("c")])
    slot = Slot(scripts)
    slot.need()
    assert slot.settle(outcome=Outcome.postponed(60_000, "Busy", brake=True), claim=True).outcome == "postponed"
    assert slot.held is not None
    assert slot.held.id == "c"
    assert [status(engine, name) for name in "ab"] == ["rate_limited"] * 2
    invariants.check(engine)
