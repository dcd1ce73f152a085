"""What a claim, a settle or a renewal does not look at, or keeps for its end, changes nothing that is seen of it."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Outcome, Policy
from tests.engine import invariants
from tests.engine.helpers import BOOM, Slot, expire, job, running
from tests.engine.virtual_time import VirtualScripts, virtual


@pytest.fixture
def clock(engine: Engine) -> VirtualScripts:
    """The engine on a clock that the test moves; the tenants acme and beta, without caps."""
    virtual(engine)
    for slug in ("acme", "beta"):
        engine.scripts.set_policy(Policy(slug, cap=None))
    assert isinstance(engine.scripts, VirtualScripts)
    return engine.scripts


def vtime(engine: Engine, tenant: str = "acme", lane: str = "bulk") -> float:
    """A tenant's virtual time in a lane, in ms."""
    return float(engine.redis.hget(engine.keys.tenant(tenant), f"vt:{lane}")) / 1000


def of_cell(engine: Engine, field: str) -> float:
    return float(engine.redis.hget(engine.keys.cell(), field) or 0)


def oldest(engine: Engine) -> float:
    return float(engine.redis.zscore(engine.keys.active("bulk"), "acme"))


@pytest.mark.parametrize("claim", [True, False])
def test_a_full_tenants_work_in_another_lane_comes_into_play_as_its_job_ends(engine: Engine, claim: bool) -> None:
    """It was at its cap, so it left the rings of all its lanes, or never came into them."""
    scripts = engine.scripts
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue(job("b"))
    slot = Slot(scripts, lanes=["bulk"])
    slot.need()
    scripts.enqueue(job("i", lane="interactive"))
    slot.settle(claim=claim)
    assert engine.redis.zscore(engine.keys.ring("interactive"), "acme") is not None


def test_a_tenant_with_two_in_flight_and_room_for_more_stays_in_its_rings(
    engine: Engine, clock: VirtualScripts
) -> None:
    clock.set_policy(Policy("acme", cap=3))
    clock.enqueue_many([job("a"), job("b"), job("c"), job("i", lane="interactive")])
    one, two = Slot(clock, "one", ["bulk"]), Slot(clock, "two", ["bulk"])
    one.need()
    two.need()
    one.settle(claim=True)
    assert one.held is not None
    assert running(engine) == 2
    invariants.check(engine)


def test_who_ends_while_the_slot_takes_anothers_job_is_not_busy(engine: Engine, clock: VirtualScripts) -> None:
    clock.enqueue_many([job("a"), job("b", "beta")])
    slot = Slot(clock)
    slot.need()
    slot.settle(claim=True)
    assert slot.held is not None
    assert engine.redis.smembers(engine.keys.busy()) == {slot.held.tenant.encode()}


def test_a_renewal_of_two_jobs_charges_for_both(engine: Engine, clock: VirtualScripts) -> None:
    clock.enqueue_many([job(each, timeout_ms=10**9, lease_ms=10**8) for each in ("a", "b")])
    held = [Slot(clock, f"s{n}").need() for n in range(2)]
    before, lane = vtime(engine), of_cell(engine, "vtime:bulk")
    clock.set_clock(10_000)
    assert clock.renew((each.id, each.token) for each in held) == [True, True]
    assert vtime(engine) - before == 2 * (10_000 - 100)
    assert of_cell(engine, "vtime:bulk") - lane == 2 * (10_000 - 100) * 1000


def test_a_renewal_before_the_expected_end_charges_nothing_and_gives_nothing_back(
    engine: Engine, clock: VirtualScripts
) -> None:
    clock.enqueue(job("a"))
    held = Slot(clock).need()
    paid = vtime(engine)
    clock.set_clock(40)
    assert clock.renew([(held.id, held.token)]) == [True]
    assert vtime(engine) == paid
    assert float(engine.redis.hget(engine.keys.lease("a"), "charged")) == 100


def test_who_comes_back_into_the_ring_as_its_job_ends_has_paid_for_it(engine: Engine, clock: VirtualScripts) -> None:
    """It was out of the ring, at its cap: what its job cost beyond the expected counts from where it comes in."""
    clock.set_policy(Policy("acme", cap=1))
    clock.enqueue_many([job("a"), job("next"), job("b", "beta")])
    slot = Slot(clock)
    while slot.need().tenant != "acme":
        slot.settle()
    paid = vtime(engine)
    clock.set_clock(5_000)
    slot.settle()
    assert vtime(engine) == paid + 4_900
    assert engine.redis.zscore(engine.keys.ring("bulk"), "acme") == vtime(engine) * 1000


def test_virtual_times_are_whole_microseconds(engine: Engine, clock: VirtualScripts) -> None:
    """Whatever the weight: thirds would be kept as texts, and a ring read through to change one."""
    clock.set_policy(Policy("acme", weight=3, cap=None))
    clock.enqueue_many([job("a"), job("b")])
    slot = Slot(clock)
    slot.need()
    clock.set_clock(1_234.567)
    slot.settle(claim=True)
    assert engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk").decode().isdecimal()
    assert engine.redis.hget(engine.keys.cell(), "vtime:bulk").decode().isdecimal()


def test_the_backlog_is_as_old_as_the_next_job(engine: Engine, clock: VirtualScripts) -> None:
    """Not only where the next one became runnable with the one before."""
    clock.enqueue_many([job("a"), job("b")])
    born = oldest(engine)
    clock.set_clock(5_000)
    clock.enqueue(job("c"))
    slot = Slot(clock)
    slot.need()
    assert oldest(engine) == born
    slot.settle(claim=True)
    assert oldest(engine) == born + 5_000


def test_the_backlog_is_as_old_as_one_that_waits_at_a_gate(engine: Engine, clock: VirtualScripts) -> None:
    """The job that is taken and the next one became runnable together; one that waits at a gate is older."""
    clock.set_limit("stripe", 0, None)
    clock.enqueue(job("w", resource="stripe"))
    born = oldest(engine)
    assert Slot(clock).claim() is None
    clock.set_clock(5_000)
    clock.enqueue_many([job("a"), job("b")])
    Slot(clock, "one").need()
    assert oldest(engine) == born


def test_a_request_that_comes_again_later_gets_the_very_same_record(clock: VirtualScripts) -> None:
    clock.enqueue(job("a", lease_ms=12_000, timeout_ms=34_000, resource=""))
    first = clock.claim("s", 1, "w", ["bulk"]).job
    clock.set_clock(3_000)
    assert first is not None
    assert clock.claim("s", 1, "w", ["bulk"]).job == first


def test_the_averages_of_run_times_are_learned_in_steps(engine: Engine, clock: VirtualScripts) -> None:
    """The next one is charged beforehand what the average is by then, also in the call that ends the first."""
    clock.enqueue_many([job(f"j{n}", lease_ms=10**9, timeout_ms=10**9) for n in range(3)])
    slot = Slot(clock)
    slot.need()
    for at, average in ((1_000, 1_000.0), (3_000, 1_200.0)):
        clock.set_clock(at)
        slot.settle(claim=True)
        assert of_cell(engine, "average:t.work") == average
        assert slot.held is not None
        assert float(engine.redis.hget(engine.keys.lease(slot.held.id), "charged")) == average


def test_a_pause_levels_nobody(engine: Engine, clock: VirtualScripts) -> None:
    """A slot that finds all paused finds the rings full: what is owed in them stays owed."""
    clock.enqueue_many([job("a"), job("b"), job("c", "beta")])
    slot = Slot(clock)
    slot.need()
    slot.settle()
    clock.pause()
    before = engine.redis.hgetall(engine.keys.cell())
    assert slot.claim() is None
    assert engine.redis.hgetall(engine.keys.cell()) == before


def test_who_was_alone_owes_nobody_once_the_rings_are_empty(engine: Engine, clock: VirtualScripts) -> None:
    clock.enqueue_many([job(f"a{n}") for n in range(3)])
    slot = Slot(clock)
    for n in range(3):
        slot.need()
        clock.set_clock(200 * (n + 1))
        slot.settle()
    assert slot.claim() is None
    assert of_cell(engine, "vnow:bulk") == of_cell(engine, "vmax:bulk") == vtime(engine) * 1000
    assert of_cell(engine, "lane_vnow") == of_cell(engine, "vtime:bulk") > 0
    clock.enqueue(job("b", "beta"))
    assert vtime(engine, "beta") == vtime(engine)
    clock.enqueue(job("i", lane="interactive"))
    assert of_cell(engine, "vtime:interactive") == of_cell(engine, "lane_vnow")


@pytest.mark.parametrize("outcome", [BOOM, Outcome.released()])
def test_a_lost_token_is_made_good_by_the_end_of_a_lease(
    engine: Engine, clock: VirtualScripts, outcome: Outcome
) -> None:
    """A slot took it and died before it asked: whoever ends something wakes the next sleeper."""
    busy, idle = Slot(clock, "busy"), Slot(clock, "idle")
    clock.enqueue(job("a", max_attempts=3))
    busy.need()
    assert idle.claim() is None
    clock.enqueue(job("b"))
    assert engine.redis.delete(engine.keys.wake("bulk")) == 1
    busy.settle(outcome=outcome)
    assert engine.redis.llen(engine.keys.wake("bulk")) == 1


def test_a_lost_token_is_made_good_by_a_last_loss(engine: Engine, clock: VirtualScripts) -> None:
    busy, idle = Slot(clock, "busy"), Slot(clock, "idle")
    clock.enqueue(job("a", max_attempts=1))
    busy.need()
    assert idle.claim() is None
    clock.enqueue_many([job("b"), job("i", lane="interactive")])
    assert engine.redis.delete(engine.keys.wake("bulk"), engine.keys.wake("interactive")) == 2
    clock.set_clock(10)
    expire(engine, "a")
    assert clock.rescue().dead == 1
    assert engine.redis.llen(engine.keys.wake("bulk")) == 1
    assert engine.redis.llen(engine.keys.wake("interactive")) == 1


def test_a_brake_holds_in_the_very_call_that_puts_it_on(clock: VirtualScripts) -> None:
    """The first gate of a type there ever was: the call has read before that there is none."""
    clock.enqueue_many([job("a"), job("b")])
    slot = Slot(clock)
    slot.need()
    slot.settle(outcome=Outcome.postponed(5_000, "Busy", "429", brake=True), claim=True)
    assert slot.held is None


def test_a_start_leaves_nothing_of_the_wait_before_it(engine: Engine, clock: VirtualScripts) -> None:
    clock.set_limit("stripe", 0, None)
    clock.enqueue(job("a", resource="stripe"))
    slot = Slot(clock)
    assert slot.claim() is None
    clock.set_limit("stripe", 1, None)
    assert slot.need().id == "a"
    assert engine.redis.hmget("rq:job:a", "jo_waits", "jo_order", "jo_back") == [b"", b"", b""]
