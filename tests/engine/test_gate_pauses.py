"""Pausing a job type or a resource: after the answer nothing of it starts, by whatever path it comes."""

from __future__ import annotations

import threading
import time

import pytest

from jobops.engine.client import Engine
from jobops.engine.gates import read_gates, type_gate
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, LANES, Slot, expire, job, make_due, status

GATES = ["stripe", type_gate("t.work")]


@pytest.fixture(params=GATES)
def gate(request: pytest.FixtureRequest, scripts: Scripts) -> str:
    """A gate that all jobs of these tests have to pass."""
    scripts.set_limit("stripe", None, None)
    return str(request.param)


@pytest.mark.parametrize("sleeps", [True, False])
def test_a_job_pushed_after_the_pause_waits_though_a_slot_slept_for_it(
    scripts: Scripts, engine: Engine, gate: str, sleeps: bool
) -> None:
    """CC-10: the slot is blocked in its wait when the pause is called."""
    slot = Slot(scripts)
    assert slot.claim() is None
    woken: list[bool] = []
    sleeper = threading.Thread(target=lambda: woken.append(scripts.wait_for_wake(LANES, 5_000)))
    if sleeps:
        sleeper.start()
    assert scripts.pause_gate(gate)
    scripts.enqueue(job("a", resource="stripe"))
    if sleeps:
        sleeper.join(timeout=5)
        assert woken == [True]
    assert slot.claim() is None
    assert status(engine, "a") == "rate_limited"
    assert scripts.resume_gate(gate)
    assert slot.need().id == "a"


def test_a_pause_covers_retries_rescues_delays_releases_and_replays(
    scripts: Scripts, engine: Engine, gate: str
) -> None:
    """CC-11: nothing starts until resume, and then everything does."""
    names = ["retried", "rescued", "released"]
    scripts.enqueue_many([job(name, resource="stripe") for name in names])
    held = [Slot(scripts, name) for name in names]
    for slot in held:
        slot.need()
    assert scripts.pause_gate(gate)
    held[0].settle(outcome=BOOM)
    make_due(engine, "retried")
    expire(engine, "rescued")
    scripts.rescue(gap_ms=2**40)
    held[2].settle(outcome=Outcome.released())
    scripts.enqueue(job("delayed", resource="stripe", delay_ms=60_000))
    make_due(engine, "delayed")
    scripts.promote()
    scripts.enqueue(job("replay", resource="stripe", replay_of="x:1"))
    engine.scripts.reconcile("acme.bulk")
    for n in range(3):
        assert Slot(scripts, f"none{n}").claim() is None
    (view,) = read_gates(engine, [gate])
    assert (view.paused, view.waiting, view.inflight) == (True, 5, 0)
    assert scripts.resume_gate(gate)
    started = {Slot(scripts, f"s{n}").need().id for n in range(5)}
    assert started == {*names, "delayed", "replay"}


def test_a_pause_outlives_new_limits_and_a_second_pause_is_told(scripts: Scripts, engine: Engine, gate: str) -> None:
    """CC-11: who declares limits anew, as a starting worker does, resumes nothing."""
    assert [scripts.pause_gate(gate), scripts.pause_gate(gate)] == [True, False]
    scripts.set_limit(gate, 5, None)
    scripts.drop_limit(gate)
    scripts.set_limit(gate, 5, None)
    scripts.enqueue(job("a", resource="stripe"))
    assert Slot(scripts).claim() is None
    assert [scripts.resume_gate(gate), scripts.resume_gate(gate)] == [True, False]
    assert Slot(scripts).need().id == "a"


def test_who_runs_goes_on_through_a_pause(scripts: Scripts, engine: Engine, gate: str) -> None:
    scripts.enqueue(job("a", resource="stripe"))
    slot = Slot(scripts)
    claimed = slot.need()
    scripts.pause_gate(gate)
    assert scripts.renew([("a", claimed.token)]) == [True]
    assert slot.settle().outcome == "succeeded"


def test_a_type_that_is_resumed_costs_nothing_more(scripts: Scripts, engine: Engine) -> None:
    """Its gate is gone when the last that waited there has left, and claims look for no gates of types any more."""
    gate = type_gate("t.work")
    scripts.pause_gate(gate)
    scripts.enqueue_many([job("a"), job("b", job_type="t.other")])
    assert Slot(scripts).run() == "succeeded"
    assert Slot(scripts, "idle").claim() is None
    scripts.resume_gate(gate)
    assert Slot(scripts, "other").run() == "succeeded"
    assert read_gates(engine) == []
    assert engine.redis.hget(engine.keys.cell(), "type_gates") == b""
    assert not engine.redis.exists(engine.keys.resource(gate))


def test_a_resume_of_everything_leaves_a_gate_paused(scripts: Scripts, gate: str) -> None:
    scripts.pause()
    scripts.pause_gate(gate)
    scripts.enqueue(job("a", resource="stripe"))
    scripts.resume()
    assert Slot(scripts).claim() is None


def test_a_backlog_behind_a_paused_gate_is_put_aside_in_bounded_steps(engine: Engine, scripts: Scripts) -> None:
    """No claim walks through all of it at once, and another tenant's job starts at the first."""
    scripts.set_policy(Policy("acme", cap=None, version=1))
    scripts.pause_gate("type:t.work")
    scripts.enqueue_many([job(f"j{n}") for n in range(300)])
    answers = []
    while not answers or answers[-1].wait_ms == 0:
        started = time.perf_counter()
        before = engine.redis.zcard(engine.keys.waiting("type:t.work"))
        answers.append(scripts.claim("slot", len(answers) + 1, "w", ["bulk"]))
        assert engine.redis.zcard(engine.keys.waiting("type:t.work")) - before <= 64
        assert time.perf_counter() - started < 0.5
    assert len(answers) >= 300 // 64
    assert engine.redis.zcard(engine.keys.waiting("type:t.work")) == 300
    scripts.enqueue_many([job(f"k{n}") for n in range(100)])
    scripts.enqueue(job("other", "beta", job_type="t.other"))
    assert scripts.claim("slot2", 1, "w", ["bulk"]).job is not None
