"""A job that somebody stopped: whoever ends its lease obeys the mark."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import list_jobs, read_job
from jobops.engine.queues import minute_counters
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, expire, job, queued, status

NOTE = "stopped by anna: wrong month"
End = Callable[[Slot, Engine], str]


def _abandon(slot: Slot, engine: Engine) -> str:
    return engine.scripts.abandon(slot.name, "stopped", "killed")


def _lost(slot: Slot, engine: Engine) -> str:
    return engine.scripts.abandon(slot.name)


def _release(slot: Slot, engine: Engine) -> str:
    return slot.settle(outcome=Outcome.released()).outcome


def _fail(slot: Slot, engine: Engine) -> str:
    return slot.settle(outcome=BOOM).outcome


def _poison(slot: Slot, engine: Engine) -> str:
    return slot.settle(outcome=Outcome.failed("poison")).outcome


def _postpone(slot: Slot, engine: Engine) -> str:
    return slot.settle(outcome=Outcome.postponed(1_000, "Busy", brake=True)).outcome


def _rescue(slot: Slot, engine: Engine) -> str:
    expire(engine, "a")
    rescued = engine.scripts.rescue(gap_ms=2**40)
    return "retry" if rescued.moved else "dead" if rescued.dead else "stopped"


ENDS = [_abandon, _lost, _release, _fail, _poison, _postpone, _rescue]


def stopped(engine: Engine, mode: str, **fields: object) -> Slot:
    """A slot whose running job `a` carries the mark."""
    engine.scripts.enqueue(job("a", key="k", replay_of="x:1", **fields))
    slot = Slot(engine.scripts)
    slot.need()
    engine.redis.hset(engine.keys.lease("a"), mapping={"stop": mode, "stop_note": NOTE})
    return slot


@pytest.mark.parametrize("end", ENDS)
def test_it_ends_cancelled_without_a_retry_or_a_dead_letter(engine: Engine, scripts: Scripts, end: End) -> None:
    slot = stopped(engine, "end", max_attempts=5)
    assert end(slot, engine) == "stopped"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error_class, view.error) == ("cancelled", "Stopped", NOTE)
    assert (status(engine, "a"), [attempt.outcome for attempt in view.history]) == ("stopped", ["stopped"])
    assert scripts.dead_batch() == []
    (told,) = scripts.outcome_batch()
    assert (told.outcome, told.error_class, told.error) == ("cancelled", "Stopped", NOTE)
    assert scripts.fates(["a"])["a"].state == "cancelled"
    assert scripts.key_holders([("acme", "t.work", "k")]) == [None]
    assert [job.id for job in list_jobs(engine, "acme.bulk", state="cancelled")] == ["a"]
    assert minute_counters(engine)["acme"].lost == 0
    minute = scripts.now_ms() // 60_000
    assert engine.redis.hget(engine.keys.minute(minute, "tenant"), "acme|cancelled") == b"1"
    assert scripts.claim("other", 1, "w", ["bulk"]).job is None


@pytest.mark.parametrize("end", ENDS)
def test_asked_to_run_again_it_does_at_once_as_its_next_attempt(engine: Engine, scripts: Scripts, end: End) -> None:
    slot = stopped(engine, "retry", max_attempts=2)
    scripts.enqueue(job("behind"))
    assert end(slot, engine) == "retry"
    assert queued(engine) == ["a", "behind"]
    again = Slot(scripts, "again").need()
    assert (again.id, again.attempt) == ("a", 2)


@pytest.mark.parametrize("end", ENDS)
def test_without_an_attempt_left_it_ends(engine: Engine, scripts: Scripts, end: End) -> None:
    slot = stopped(engine, "retry", max_attempts=1)
    assert end(slot, engine) == "stopped"
    assert status(engine, "a") == "stopped"


@pytest.mark.parametrize("outcome", [Outcome.succeeded(b"1"), Outcome.discarded("E", "fine")])
def test_one_that_was_quicker_has_succeeded(engine: Engine, scripts: Scripts, outcome: Outcome) -> None:
    slot = stopped(engine, "end")
    assert slot.settle(outcome=outcome).outcome == outcome.kind


def test_a_supervisor_that_says_so_stops_a_job_without_a_mark(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=5))
    Slot(scripts).need()
    assert scripts.abandon("slot", "stopped", "stopped by hand") == "stopped"
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.error) == ("cancelled", "stopped by hand")


def test_a_brake_of_a_stopped_job_brakes_nobody(engine: Engine, scripts: Scripts) -> None:
    slot = stopped(engine, "end")
    scripts.enqueue(job("b"))
    assert _postpone(slot, engine) == "stopped"
    assert Slot(scripts, "other").need().id == "b"


def test_a_place_at_a_gate_is_free_when_its_holder_was_stopped(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    slot = stopped(engine, "end", resource="stripe")
    scripts.enqueue(job("b", resource="stripe"))
    assert Slot(scripts, "other").claim() is None
    assert _abandon(slot, engine) == "stopped"
    assert queued(engine) == ["b"]
