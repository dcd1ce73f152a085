"""A brake: one job was told to come later, and nothing that needs the same starts before."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.gates import read_gates
from jobops.engine.jobs import read_job
from jobops.engine.records import Outcome
from tests.engine import invariants
from tests.engine.helpers import Slot, job, queued, status
from tests.engine.test_gate_wake_ups import clock, waits
from tests.engine.virtual_time import VirtualScripts

__all__ = ["clock"]  # the fixture
TOLD = Outcome.postponed(5_000, "TooManyRequests", "429, come again in 5 s", brake=True)


@pytest.fixture
def braked(engine: Engine, clock: VirtualScripts) -> VirtualScripts:
    """Of five jobs that need the resource, one was told to come in 5 s, one runs, three wait."""
    clock.set_limit("stripe", 2, None)
    clock.enqueue_many([job(f"j{n}", resource="stripe") for n in range(5)])
    told, runs = Slot(clock, "told"), Slot(clock, "runs")
    told.need()
    runs.need()
    waits(clock, "first")  # the others stand in the room before it
    assert told.settle(outcome=TOLD).outcome == "postponed"
    waits(clock, "idle")
    return clock


def test_nothing_that_needs_the_resource_starts_until_then_and_then_all_do_in_order(
    engine: Engine, braked: VirtualScripts
) -> None:
    """Who was told comes first. Another resource's jobs, and those that need none, go on."""
    (view,) = read_gates(engine, ["stripe"])
    start = braked.redis.zscore(engine.keys.parked(), "resource:stripe")
    assert (view.brake_until_ms, view.brake_by, view.inflight, view.waiting) == (int(start), "j0", 1, 4)
    braked.set_limit("mail", None, None)
    braked.enqueue_many([job("mails", resource="mail"), job("needs-nothing")])
    assert {Slot(braked, "a").need().id, Slot(braked, "b").need().id} == {"mails", "needs-nothing"}
    braked.set_clock(4_999)
    assert waits(braked, "c") == 1
    braked.set_clock(5_000)
    assert Slot(braked, "d").need().id == "j0"
    assert waits(braked, "e") > 0, "j1 runs still: the limit holds as well"
    (view,) = read_gates(engine, ["stripe"])
    assert (view.brake_until_ms, view.brake_by) == (0, "")


def test_who_runs_goes_on_under_the_brake(engine: Engine, braked: VirtualScripts) -> None:
    claimed = {"j1": engine.redis.hget(engine.keys.lease("j1"), "token").decode()}
    assert braked.renew(list(claimed.items())) == [True]
    assert braked.settle("x", 1, "j1", claimed["j1"], Outcome.succeeded()).outcome == "succeeded"
    assert queued(engine) == []


def test_a_second_brake_only_makes_it_longer(engine: Engine, braked: VirtualScripts) -> None:
    token = engine.redis.hget(engine.keys.lease("j1"), "token").decode()
    braked.settle("x", 1, "j1", token, Outcome.postponed(100, "TooManyRequests", brake=True))
    braked.set_clock(4_999)
    waits(braked, "a")
    assert status(engine, "j1") == "rate_limited"
    assert read_gates(engine, ["stripe"])[0].brake_by == "j0"


def test_a_person_takes_the_brake_off(engine: Engine, braked: VirtualScripts) -> None:
    assert [braked.release_gate("stripe"), braked.release_gate("stripe")] == [True, False]
    assert Slot(braked, "a").need().id == "j0"


def test_new_limits_and_a_resume_leave_the_brake_on(engine: Engine, braked: VirtualScripts) -> None:
    braked.set_limit("stripe", 50, None)
    braked.pause_gate("stripe")
    braked.resume_gate("stripe")
    assert waits(braked, "a") == 1000
    braked.set_clock(5_000)
    assert Slot(braked, "b").need().id == "j0"


def test_the_brake_of_a_job_without_a_resource_is_its_types(engine: Engine, clock: VirtualScripts) -> None:
    """The gate is made for it, and is gone when it is over."""
    clock.enqueue_many([job("a"), job("b"), job("other", job_type="t.other")])
    slot = Slot(clock, "slot")
    slot.need()
    slot.settle(outcome=TOLD)
    assert slot.need().id == "other"
    assert waits(clock, "idle") == 1000
    assert [view.name for view in read_gates(engine)] == ["stripe", "type:t.work"]
    clock.set_clock(5_000)
    assert [Slot(clock, "x").run(), Slot(clock, "y").run()] == ["succeeded"] * 2
    assert [view.name for view in read_gates(engine)] == ["stripe"]


def test_the_attempt_is_given_back_and_the_reason_is_kept(engine: Engine, braked: VirtualScripts) -> None:
    view = read_job(engine, "j0")
    assert view is not None
    assert (view.state, view.attempts, view.error_class) == ("waiting", 0, "TooManyRequests")
    assert [attempt.outcome for attempt in view.history] == ["postponed"]


def test_a_clock_that_is_set_back_makes_a_brake_no_longer(engine: Engine, braked: VirtualScripts) -> None:
    """MA-01 for brakes: an hour back, and it is over after 5 s still."""
    braked.promote()
    braked.set_clock(-3_600_000)
    braked.promote()
    assert waits(braked, "a") <= 1000
    braked.set_clock(-3_600_000 + 5_100)
    assert Slot(braked, "b").need().id == "j0"
    invariants.check(engine)
