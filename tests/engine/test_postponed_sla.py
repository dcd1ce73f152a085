"""For how long a job may be postponed: since it could have run, whatever it was delayed by and however it came back."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import Outcome
from tests.engine import invariants
from tests.engine.helpers import Slot, job, status
from tests.engine.test_gate_wake_ups import clock
from tests.engine.virtual_time import VirtualScripts

__all__ = ["clock"]  # the fixture
SLA, DAY = 60_000, 86_400_000


def outcome(*, delay_ms: int = 20_000, brake: bool = False) -> Outcome:
    return Outcome.postponed(delay_ms, "Busy", "come again", "Traceback: busy", brake=brake, within_ms=SLA)


def postponed_until(clock: VirtualScripts, first: int, *, brake: bool = False) -> list[tuple[int, str]]:
    """What came of each start from ``first`` on, and when (ms later), until it was an error."""
    ended: list[tuple[int, str]] = []
    at = first
    while not ended or ended[-1][1] == "postponed":
        clock.set_clock(at)
        clock.promote()
        ended.append((at - first, Slot(clock, f"at{at}").run(outcome(brake=brake))))
        at += 20_000
    return ended


@pytest.mark.parametrize("brake", [False, True])
@pytest.mark.parametrize("delay_ms", [0, SLA // 2, 30 * DAY])
def test_a_delayed_job_is_postponed_as_long_as_any_other(
    engine: Engine, clock: VirtualScripts, delay_ms: int, brake: bool
) -> None:
    """Its age would count from the enqueue: one delayed by more than its SLA was never postponed at all."""
    clock.enqueue(job("a", delay_ms=delay_ms, resource="stripe"))
    assert postponed_until(clock, delay_ms, brake=brake) == [
        (0, "postponed"), (20_000, "postponed"), (40_000, "postponed"), (60_000, "retry"),
    ]  # fmt: skip
    view = read_job(engine, "a")
    assert view is not None
    assert (view.attempts, view.history[-1].outcome, view.traceback) == (1, "error", "Traceback: busy")


def test_a_retry_before_does_not_begin_the_time_anew(engine: Engine, clock: VirtualScripts) -> None:
    """Its due time took the place of the first one; when the first attempt began is known."""
    clock.enqueue(job("a", delay_ms=DAY, max_attempts=9))
    clock.set_clock(DAY)
    clock.promote()
    assert Slot(clock).run(Outcome.failed("error", "E", "first", delay_ms=50_000)) == "retry"
    assert postponed_until(clock, DAY + 50_000) == [(0, "postponed"), (20_000, "retry")]


def test_a_release_does_not_begin_it_anew_either(clock: VirtualScripts) -> None:
    clock.enqueue(job("a", delay_ms=DAY))
    clock.set_clock(DAY)
    clock.promote()
    assert Slot(clock, "stops").run(Outcome.released()) == "released"
    assert postponed_until(clock, DAY + 30_000) == [(0, "postponed"), (20_000, "postponed"), (40_000, "retry")]


def test_waiting_in_the_queue_counts(clock: VirtualScripts) -> None:
    """Nobody took it for longer than its SLA: it is everybody's business by now."""
    clock.enqueue(job("a"))
    assert postponed_until(clock, SLA) == [(0, "retry")]


def test_one_that_was_run_before_its_time_may_be_postponed(engine: Engine, clock: VirtualScripts) -> None:
    clock.enqueue(job("a", delay_ms=DAY))
    assert clock.run_now("a") == "queued"
    assert postponed_until(clock, 1_000)[-1] == (60_000, "retry")


@pytest.mark.parametrize("damage", ["jo_enqueued", "jo_due", "jo_since", "attempt:1"])
def test_a_record_that_says_nonsense_stops_no_job(engine: Engine, clock: VirtualScripts, damage: str) -> None:
    clock.enqueue(job("a", delay_ms=1_000))
    clock.set_clock(1_000)
    clock.promote()
    engine.redis.hset("rq:job:a", damage, "noon")
    assert Slot(clock).run(outcome()) == "postponed"
    assert status(engine, "a") == "scheduled"
    invariants.check(engine)


def test_without_a_promise_a_job_is_postponed_at_any_age(clock: VirtualScripts) -> None:
    clock.enqueue(job("a"))
    clock.set_clock(400 * DAY)
    assert Slot(clock).run(Outcome.postponed(1_000, "Busy")) == "postponed"
