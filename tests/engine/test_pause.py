"""Pause: after it answers nothing of the tenant starts, by whatever path it comes back."""

from __future__ import annotations

import threading

import pytest

from jobops.engine.client import Engine, connect
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, LANES, Slot, expire, job, make_due, queued, slots, status
from tests.tools import wait_for


def test_a_paused_tenants_jobs_wait_and_others_run(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    assert scripts.pause("acme") is True
    slot = Slot(scripts)
    assert slot.need().id == "b"
    assert slot.claim() is None
    scripts.enqueue(job("c", lane="interactive"))
    assert slot.claim() is None
    assert scripts.resume("acme") is True
    assert {slot.need().id, slot.need().id} == {"a", "c"}


def test_pausing_an_unknown_tenant_says_so_and_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    assert (scripts.pause("nobody"), scripts.resume("nobody")) == (False, False)
    assert scripts.policy("nobody") is None
    assert not engine.redis.exists(engine.keys.tenant("nobody"))


def test_running_jobs_of_a_paused_tenant_end_as_usual(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    claimed = slot.need()
    scripts.pause("acme")
    settled = slot.settle(claimed, claim=True)
    assert settled.outcome == "succeeded"
    assert settled.claim is not None
    assert settled.claim.job is None


def test_an_idle_slot_that_sleeps_when_pause_is_called_gets_nothing_pushed_later(
    redis_server: object, engine: Engine, scripts: Scripts
) -> None:
    """CC-10: a worker blocks in its pop, pause is called, a job comes: it waits until resume, which wakes the slot."""
    got: list[str] = []

    def sleeper() -> None:
        with connect(redis_server.url) as own:  # type: ignore[attr-defined]
            mine = Slot(Scripts(own, engine.keys), "sleeper")
            while not got:
                claimed = mine.claim()
                if claimed:
                    got.append(claimed.id)
                else:
                    mine.scripts.wait_for_wake(LANES, 1000)

    thread = threading.Thread(target=sleeper)
    thread.start()
    try:
        wait_for(lambda: engine.redis.info("clients")["blocked_clients"] == 1)
        scripts.pause("acme")
        scripts.enqueue(job("a"))
        seq = int(engine.redis.hget(engine.keys.slot("sleeper"), "seq"))
        wait_for(lambda: int(engine.redis.hget(engine.keys.slot("sleeper"), "seq")) > seq)
        assert (got, queued(engine)) == ([], ["a"])
        scripts.resume("acme")
        wait_for(lambda: got == ["a"])
    finally:
        got.append("end")
        thread.join(timeout=5)


def _rescued(engine: Engine, slot: Slot) -> None:
    expire(engine, "a")
    engine.scripts.rescue()


def _abandoned(engine: Engine, slot: Slot) -> None:
    engine.scripts.abandon(slot.name)


def _released(engine: Engine, slot: Slot) -> None:
    slot.settle(outcome=Outcome.released())


def _promoted(engine: Engine, slot: Slot) -> None:
    slot.settle(outcome=BOOM)
    engine.scripts.promote()


def _delayed(engine: Engine, slot: Slot) -> None:
    _released(engine, slot)
    engine.scripts.enqueue(job("later", delay_ms=50_000))
    make_due(engine, "later")
    engine.scripts.promote()


def _reconciled(engine: Engine, slot: Slot) -> None:
    engine.redis.delete(engine.keys.lease("a"))
    engine.scripts.reconcile("acme.bulk")


@pytest.mark.parametrize("back", [_rescued, _abandoned, _released, _promoted, _delayed, _reconciled])
@pytest.mark.parametrize("whom", ["acme", None], ids=["tenant", "all"])
def test_a_pause_covers_every_way_back_into_the_queue(
    engine: Engine, scripts: Scripts, back: object, whom: str | None
) -> None:
    """CC-11: recovery, retries, schedules."""
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    scripts.pause(whom)
    back(engine, slot)  # type: ignore[operator]
    assert status(engine, "a") == "queued"
    assert Slot(scripts, "other").claim() is None
    scripts.reconcile("acme.bulk")
    scripts.reconcile("acme.interactive")
    assert Slot(scripts, "another").claim() is None
    scripts.resume(whom)
    assert Slot(scripts, "third").need().tenant == "acme"


def test_a_pause_survives_a_policy_that_says_so_and_ends_with_one_that_does_not(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.pause("acme")
    scripts.set_policy(Policy("acme", paused=True))
    assert Slot(scripts).claim() is None
    scripts.set_policy(Policy("acme", paused=False))
    assert Slot(scripts).scripts.claim("s2", 1, "w", LANES).job is not None


def test_pausing_all_stops_every_tenant_and_resume_lets_all_go(scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    assert scripts.is_paused() is False
    assert scripts.pause() is True
    assert scripts.is_paused() is True
    many = slots(scripts, 3)
    assert [slot.claim() for slot in many] == [None, None, None]
    assert scripts.resume() is True
    assert scripts.is_paused() is False
    assert {many[0].need().id, many[1].need().id} == {"a", "b"}


def test_idle_slots_sleep_while_all_is_paused(scripts: Scripts) -> None:
    """Work that may not start wakes nobody, or the fleet would spin until resume."""
    slot = Slot(scripts)
    slot.claim()
    scripts.pause()
    scripts.enqueue_many([job("a"), job("b", tenant="beta", lane="interactive")])
    for _ in range(3):
        assert scripts.wait_for_wake(LANES, 15) is False
        assert slot.claim() is None


def test_a_slot_that_asked_while_all_was_paused_is_woken_by_resume(scripts: Scripts) -> None:
    scripts.pause()
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    assert slot.claim() is None
    assert scripts.wait_for_wake(LANES, 20) is False
    scripts.resume()
    assert scripts.wait_for_wake(LANES, 900) is True
    assert slot.need().id == "a"


def test_resuming_all_leaves_a_paused_tenant_paused(scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    scripts.pause("acme")
    scripts.pause()
    scripts.resume()
    slot = Slot(scripts)
    assert slot.need().id == "b"
    assert slot.claim() is None


def test_a_settle_while_all_is_paused_claims_nothing(scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    claimed = slot.need()
    scripts.pause()
    settled = slot.settle(claimed, claim=True)
    assert settled.claim is not None
    assert (settled.outcome, settled.claim.job) == ("succeeded", None)


def test_pausing_twice_and_resuming_twice_changes_nothing_more(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    assert (scripts.pause("acme"), scripts.pause("acme")) == (True, True)
    assert (scripts.resume("acme"), scripts.resume("acme")) == (True, True)
    slot = Slot(scripts)
    assert slot.need().id == "a"
    assert slot.claim() is None
