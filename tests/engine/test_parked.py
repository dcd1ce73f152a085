"""What time opens comes into play at the next claim, a bounded number at a time; what people open wakes a sleeper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobops.engine.client import Engine
from jobops.engine.rates import Rate
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job
from tests.engine.test_gate_wake_ups import clock, waits
from tests.engine.test_wake_ups import fleet, url
from tests.engine.virtual_time import START_US, VirtualScripts
from tests.tools import wait_for

__all__ = ["clock", "url"]  # fixtures


def parked(engine: Engine) -> int:
    return engine.redis.zcard(engine.keys.parked())


@pytest.fixture
def hundred(engine: Engine, clock: VirtualScripts) -> list[str]:
    """A hundred tenants without a token and with a job that waits for one, until 1 s."""
    slugs = [f"t{n:03}" for n in range(100)]
    for slug in slugs:
        clock.set_policy(Policy(slug, cap=None, rate=Rate(1, 1_000)))
        clock.enqueue_many([job(f"{slug}-{n}", slug) for n in range(2)])
    slot = Slot(clock, "slot")
    for _ in slugs:
        slot.run()
    assert slot.claim() is None
    assert parked(engine) == 100
    return slugs


def test_no_claim_looks_after_all_of_them_at_once(engine: Engine, clock: VirtualScripts, hundred: list[str]) -> None:
    clock.set_clock(1_000)
    slot = Slot(clock, "later")
    ran = []
    for n in range(100):
        before = parked(engine)
        ran.append(slot.need().tenant)
        assert before - parked(engine) <= 16, n
        slot.settle()
    assert sorted(ran) == hundred


def test_before_their_time_nobody_looks(engine: Engine, clock: VirtualScripts, hundred: list[str]) -> None:
    clock.set_clock(999)
    assert waits(clock, "later") == 1
    assert parked(engine) == 100


@pytest.mark.parametrize("rate", [Rate(1, 1_000), None])
@pytest.mark.parametrize("bar", [{}, {"cap": 0}, {"paused": True}, {"cap": 1}])
def test_a_faster_rate_leaves_nobody_parked_until_the_instant_of_the_slower_one(
    engine: Engine, clock: VirtualScripts, rate: Rate | None, bar: dict[str, Any]
) -> None:
    """I4, also of one that may not run for another reason meanwhile: it is not parked longer than its rate says."""
    clock.set_policy(Policy("acme", cap=None, rate=Rate(1, 3_600_000)))
    clock.enqueue_many([job("a"), job("b")])
    slot = Slot(clock, "slot")
    slot.need()
    assert parked(engine) == 1
    clock.set_policy(Policy("acme", **{"cap": None, "rate": rate, "version": 1, **bar}))
    assert (engine.redis.zscore(engine.keys.parked(), "tenant:acme") or 0) <= START_US / 1000 + 1_000
    slot.settle()
    clock.set_policy(Policy("acme", cap=None, rate=rate, version=2))
    clock.set_clock(1_000)
    assert slot.need().id == "b"


def test_a_member_that_an_outsider_wrote_stops_no_other(engine: Engine, clock: VirtualScripts) -> None:
    clock.enqueue(job("a", resource="mail"))
    waits(clock, "idle")
    engine.redis.zadd(engine.keys.parked(), {"nonsense": 1, "resource:": 2, "tenant:": 3, "tenant:bad": 4})
    engine.redis.set(engine.keys.tenant("bad"), "no hash")
    clock.set_limit("mail", None, None)
    assert Slot(clock, "slot").need().id == "a"
    clock.set_clock(2_000)
    waits(clock, "idle2")
    assert parked(engine) == 0
    engine.redis.delete(engine.keys.tenant("bad"))


def _settle(holder: Slot, scripts: Scripts) -> None:
    holder.settle()


def _raise(holder: Slot, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 2, None)


def _resume(holder: Slot, scripts: Scripts) -> None:
    scripts.pause_gate("stripe")
    scripts.set_limit("stripe", 2, None)
    scripts.resume_gate("stripe")


def _take_the_brake_off(holder: Slot, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 2, None)
    holder.settle(outcome=Outcome.postponed(600_000, "Busy", brake=True))
    scripts.release_gate("stripe")


def _settle_past_one_who_is_paused(holder: Slot, scripts: Scripts) -> None:
    scripts.enqueue(job("front", "beta", resource="stripe", front=True))
    scripts.pause("beta")
    holder.settle()


@pytest.mark.parametrize("open_gate", [_settle, _raise, _resume, _take_the_brake_off, _settle_past_one_who_is_paused])
def test_whatever_opens_a_gate_wakes_a_sleeper_for_who_waits_there(
    url: str, engine: Engine, scripts: Scripts, open_gate: Callable[[Slot, Scripts], None]
) -> None:
    """The sleeper sleeps for 20 s, whatever it was told: only a token wakes it in time."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("held", "beta", resource="stripe"))
    holder = Slot(scripts, "holder")
    holder.need()
    scripts.enqueue(job("waits", resource="stripe"))
    assert Slot(scripts, "filler").claim() is None
    engine.redis.delete(engine.keys.idle("bulk"), engine.keys.idle("interactive"))
    with fleet(url, engine, 1) as got:
        open_gate(holder, scripts)
        wait_for(lambda: got, seconds=3, what="a woken slot")
    assert got[0] in ("waits", "held")
