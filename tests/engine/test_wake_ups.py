"""Waking: no job waits beside a sleeping slot, and no slot is woken for nothing again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from jobops.engine.client import Engine, connect
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, LANES, Slot, expire, job, make_due, slots
from tests.tools import wait_for


def tokens(engine: Engine, lane: str = "bulk") -> int:
    return int(engine.redis.llen(engine.keys.wake(lane)))


def idle(engine: Engine, lane: str = "bulk") -> int:
    return int(engine.redis.zcard(engine.keys.idle(lane)))


def test_an_enqueue_between_the_empty_answer_and_the_sleep_wakes_the_slot(scripts: Scripts) -> None:
    """Trap 3: the slot is registered in the step that found nothing."""
    slot = Slot(scripts)
    assert slot.claim() is None
    scripts.enqueue(job("a"))
    assert scripts.wait_for_wake(LANES, 900) is True
    assert slot.need().id == "a"


def test_without_work_the_wait_ends_by_itself(scripts: Scripts) -> None:
    assert scripts.wait_for_wake(LANES, 30) is False


def test_nobody_is_woken_when_nobody_sleeps(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(10)])
    assert (tokens(engine), tokens(engine, "interactive")) == (0, 0)


def test_a_flood_makes_no_more_tokens_than_slots_sleep(engine: Engine, scripts: Scripts) -> None:
    many = slots(scripts, 3)
    for slot in many:
        slot.claim()
    scripts.enqueue_many([job(f"j{n}") for n in range(200)])
    assert tokens(engine) == 3
    assert 0 < engine.redis.pttl(engine.keys.wake("bulk")) <= 5_000


def test_when_no_slot_sleeps_no_token_is_left_to_wake_one_for_nothing(engine: Engine, scripts: Scripts) -> None:
    many = slots(scripts, 4)
    for slot in many:
        slot.claim()
    scripts.enqueue_many([job(f"j{n}") for n in range(4)])
    scripts.enqueue_many([job(f"i{n}", lane="interactive") for n in range(4)])
    for awake, slot in enumerate(many, 1):
        slot.need()
        assert (idle(engine), idle(engine, "interactive")) == (4 - awake, 4 - awake)
        assert tokens(engine) <= 4 - awake
        assert tokens(engine, "interactive") <= 4 - awake


def test_work_behind_a_cap_wakes_nobody(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=1))
    one, two = slots(scripts, 2)
    one.claim()
    two.claim()
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    one.need()
    engine.redis.delete(engine.keys.wake("bulk"))
    assert two.claim() is None
    scripts.enqueue(job("more"))
    one.settle(claim=True)
    assert one.held is not None
    assert tokens(engine) == 0


def test_slots_whose_wait_is_over_count_no_more(engine: Engine, scripts: Scripts) -> None:
    for slot in slots(scripts, 5):
        slot.claim()
    past = scripts.now_ms() - 1
    engine.redis.zadd(engine.keys.idle("bulk"), {f"slot{n}": past for n in range(4)})
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    assert (tokens(engine), idle(engine)) == (1, 1)


def test_a_slot_sleeps_only_for_its_own_lanes(engine: Engine, scripts: Scripts) -> None:
    Slot(scripts, lanes=["interactive"]).claim()
    scripts.enqueue(job("a", lane="bulk"))
    assert (tokens(engine), tokens(engine, "interactive")) == (0, 0)
    scripts.enqueue(job("b", lane="interactive"))
    assert tokens(engine, "interactive") == 1


@contextmanager
def fleet(url: str, engine: Engine, count: int) -> Iterator[list[str]]:
    """Slots that claim, sleep, wake up and hold what they get."""
    got: list[str] = []
    stop = threading.Event()

    def run(name: str) -> None:
        with connect(url) as own:
            slot = Slot(Scripts(own, engine.keys), name)
            while not stop.is_set():
                if claimed := slot.claim():
                    got.append(claimed.id)
                    return
                slot.scripts.wait_for_wake(LANES, 20_000)  # far longer than the test: only a token wakes it in time

    threads = [threading.Thread(target=run, args=(f"slot{n}",)) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: engine.redis.info("clients")["blocked_clients"] == count)
        yield got
    finally:
        stop.set()
        for _ in range(count):
            engine.redis.lpush(engine.keys.wake("bulk"), "1")
        for thread in threads:
            thread.join(timeout=5)
        engine.redis.delete(engine.keys.wake("bulk"))


@pytest.fixture
def url(redis_server: object) -> str:
    return str(redis_server.url)  # type: ignore[attr-defined]


def _enqueue_one_by_one(engine: Engine) -> None:
    for n in range(6):
        engine.scripts.enqueue(job(f"j{n}"))


def _enqueue_together(engine: Engine) -> None:
    engine.scripts.enqueue_many([job(f"j{n}", lane=LANES[n % 2]) for n in range(6)])


def _resume(engine: Engine) -> None:
    engine.scripts.pause("acme")
    _enqueue_one_by_one(engine)
    engine.scripts.resume("acme")


def _resume_all(engine: Engine) -> None:
    engine.scripts.pause()
    _enqueue_together(engine)
    engine.scripts.resume()


def _raise_cap(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme", cap=0))
    _enqueue_one_by_one(engine)
    engine.scripts.set_policy(Policy("acme", cap=None))


def _promote(engine: Engine) -> None:
    for n in range(6):
        engine.scripts.enqueue(job(f"j{n}", delay_ms=90_000))
        make_due(engine, f"j{n}")
    engine.scripts.promote()


@pytest.mark.parametrize("come", [_enqueue_one_by_one, _enqueue_together, _resume, _resume_all, _raise_cap, _promote])
def test_as_many_idle_slots_as_jobs_all_wake_up(
    url: str, engine: Engine, scripts: Scripts, come: Callable[[Engine], None]
) -> None:
    """Each token wakes one slot, whose claim wakes the next while more is runnable."""
    engine.redis.config_resetstat()
    with fleet(url, engine, 6) as got:
        come(engine)
        wait_for(lambda: sorted(got) == [f"j{n}" for n in range(6)], seconds=3, what="six jobs on six slots")


def _settle(holder: Slot, engine: Engine) -> None:
    holder.settle()


def _abandon(holder: Slot, engine: Engine) -> None:
    engine.scripts.abandon(holder.name)


def _rescue(holder: Slot, engine: Engine) -> None:
    expire(engine, "held")
    engine.scripts.rescue()


def _retry(holder: Slot, engine: Engine) -> None:
    holder.settle(outcome=BOOM)


def _release(holder: Slot, engine: Engine) -> None:
    holder.settle(outcome=Outcome.released())


@pytest.mark.parametrize("end", [_settle, _abandon, _rescue, _retry, _release])
def test_a_freed_slot_of_the_cap_wakes_a_sleeper_for_what_waited_behind_it(
    url: str, engine: Engine, scripts: Scripts, end: Callable[[Slot, Engine], None]
) -> None:
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job("held"), job("waiting")])
    holder = Slot(scripts, "holder")
    holder.need()
    with fleet(url, engine, 1) as got:
        end(holder, engine)
        wait_for(lambda: got, seconds=3, what="a woken slot")


def test_idle_slots_are_not_woken_again_and_again(url: str, engine: Engine, scripts: Scripts) -> None:
    """A job for one of four: at most one claim by each is in vain."""
    with fleet(url, engine, 4) as got:
        engine.redis.config_resetstat()
        scripts.enqueue(job("a"))
        wait_for(lambda: got == ["a"])
        wait_for(lambda: engine.redis.info("clients")["blocked_clients"] == 3)
        calls = engine.redis.info("commandstats")["cmdstat_evalsha"]["calls"]
        assert calls <= 1 + 4
