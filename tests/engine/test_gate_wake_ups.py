"""Wake-ups at gates that must not be lost, and what is made good within a second if one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.rates import Rate
from jobops.engine.records import Outcome, Policy
from tests.engine import invariants
from tests.engine.helpers import Slot, job, queued, status
from tests.engine.virtual_time import VirtualScripts, virtual


@pytest.fixture
def clock(engine: Engine) -> Iterator[VirtualScripts]:
    """The engine on a clock that the test moves; the tenants acme and beta, a gate of one place."""
    virtual(engine)
    for slug in ("acme", "beta"):
        engine.scripts.set_policy(Policy(slug, cap=None))
    engine.scripts.set_limit("stripe", 1, None)
    assert isinstance(engine.scripts, VirtualScripts)
    yield engine.scripts
    invariants.check(engine)


def waits(scripts: VirtualScripts, name: str) -> int:
    """A slot that finds nothing: for how long it sleeps (ms)."""
    while True:
        claim = scripts.claim(name, 1, "w", ["interactive", "bulk"])
        assert claim.job is None
        if claim.wait_ms:
            return claim.wait_ms


def test_the_last_holder_leaves_while_the_brake_is_on(engine: Engine, clock: VirtualScripts) -> None:
    """Trap 3, first: no lease will end any more that could offer the place. Time does."""
    clock.set_limit("stripe", 2, None)
    clock.enqueue_many([job(name, resource="stripe") for name in ("a", "b", "c")])
    one, two = Slot(clock, "one"), Slot(clock, "two")
    one.need()
    two.need()
    assert waits(clock, "three") == 1000
    one.settle(outcome=Outcome.postponed(5_000, "Busy", "429", brake=True))
    two.settle()
    assert [status(engine, name) for name in ("a", "b", "c")] == ["rate_limited", "finished", "rate_limited"]
    clock.set_clock(4_300)
    assert waits(clock, "four") == 700
    clock.set_clock(5_000)
    assert (one.need().id, two.need().id) == ("a", "c")


def _pause(clock: VirtualScripts) -> Callable[[], object]:
    clock.pause("acme")
    return lambda: clock.resume("acme")


def _cap(clock: VirtualScripts) -> Callable[[], object]:
    clock.set_policy(Policy("acme", cap=0, version=1))
    return lambda: clock.set_policy(Policy("acme", cap=None, version=2))


def _running(clock: VirtualScripts) -> Callable[[], object]:
    clock.enqueue(job("other"))
    runner = Slot(clock, "runner")
    assert runner.need().id == "other"
    clock.set_policy(Policy("acme", cap=1, version=1))
    return runner.settle


def _tokens(clock: VirtualScripts) -> Callable[[], object]:
    clock.set_policy(Policy("acme", cap=None, rate=Rate(1, 60_000), version=1))
    clock.enqueue(job("other"))
    assert Slot(clock, "runner").run() == "succeeded"
    return lambda: clock.set_clock(60_000)


@pytest.mark.parametrize("bar", [_pause, _cap, _running, _tokens])
def test_a_freed_place_is_not_offered_to_who_may_not_run_and_comes_back_to_him_when_he_may(
    engine: Engine, clock: VirtualScripts, bar: Callable[[VirtualScripts], Callable[[], object]]
) -> None:
    """Trap 3, second: the next tenant gets it, and then the first one, at once when he may run again."""
    clock.enqueue(job("held", "beta", resource="stripe"))
    holder = Slot(clock, "holder")
    holder.need()
    clock.enqueue_many([job("mine", resource="stripe"), job("yours", "beta", resource="stripe")])
    assert waits(clock, "idle") == 1000
    unbar = bar(clock)
    holder.settle()
    assert (queued(engine), queued(engine, "beta.bulk")) == ([], ["yours"])
    assert holder.need().id == "yours"
    holder.settle()
    assert queued(engine) == []
    unbar()
    assert Slot(clock, "last").need().id == "mine"


def test_one_that_was_offered_the_place_and_then_paused_keeps_it_from_others_for_a_second_at_most(
    engine: Engine, clock: VirtualScripts
) -> None:
    clock.enqueue(job("held", "beta", resource="stripe"))
    holder = Slot(clock, "holder")
    holder.need()
    clock.enqueue_many([job("mine", resource="stripe"), job("yours", "beta", resource="stripe")])
    waits(clock, "idle")
    holder.settle()
    assert queued(engine) == ["mine"]
    clock.pause("acme")
    assert waits(clock, "idle2") == 1000
    clock.set_clock(1_000)
    assert holder.need().id == "yours"


def test_when_all_tenants_are_parked_the_slots_sleep_until_the_first_has_a_token(
    engine: Engine, clock: VirtualScripts
) -> None:
    """Trap 3, third: all slots asleep while all tenants are parked."""
    for slug, per_ms in (("acme", 800), ("beta", 300)):
        clock.set_policy(Policy(slug, cap=None, rate=Rate(1, per_ms), version=1))
        clock.enqueue_many([job(f"{slug}{n}", slug) for n in range(2)])
    slot = Slot(clock, "slot")
    for _ in range(2):
        slot.run()
    assert waits(clock, "a") == 300
    assert waits(clock, "b") == 300
    clock.set_clock(299)
    assert waits(clock, "c") == 1
    clock.set_clock(300)
    assert slot.need().id == "beta1"
    assert waits(clock, "d") == 500


def test_an_enqueue_between_nothing_and_sleep_wakes_the_slot_though_it_waits_for_the_parked(
    engine: Engine, clock: VirtualScripts
) -> None:
    """Trap 3, fourth: it is registered as idle in the same step that found nothing."""
    clock.enqueue(job("unknown", resource="mail"))
    assert waits(clock, "idle") == 1000
    clock.enqueue(job("plain"))
    assert clock.wait_for_wake(["bulk"], 10)


def test_waiters_that_lost_their_turns_are_found_again(engine: Engine, clock: VirtualScripts) -> None:
    """As after a partly restored Redis: a gate with room and waiters is looked at every second."""
    clock.enqueue_many([job(name, resource="stripe") for name in ("a", "b")])
    slot = Slot(clock, "slot")
    slot.need()
    waits(clock, "idle")
    clock.pause("acme")
    slot.settle()
    clock.set_clock(1_000)
    waits(clock, "idle2")
    engine.redis.hset(engine.keys.tenant("acme"), "paused", "0")  # as by somebody who tells nobody
    clock.set_clock(2_000)
    assert slot.need().id == "b"


def test_a_gate_that_opens_wide_lets_all_through_one_after_the_other(clock: VirtualScripts) -> None:
    """Each that is taken brings the next back: no wait in between, though few go back at once."""
    clock.set_limit("stripe", None, None)
    clock.pause_gate("stripe")
    clock.enqueue_many([job(f"j{n}", resource="stripe") for n in range(50)])
    waits(clock, "idle")
    clock.resume_gate("stripe")
    assert [Slot(clock, f"s{n}").need().id for n in range(50)] == [f"j{n}" for n in range(50)]
