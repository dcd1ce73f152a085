"""I2: no claim takes in flight above the cap in force at that instant, per tenant and per lane."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, expire, job, running, slots


def claimed_by(many: list[Slot]) -> list[str]:
    """Which jobs the slots get when each asks once."""
    return [claimed.id for slot in many if (claimed := slot.claim())]


def test_a_tenant_never_runs_more_than_its_cap_over_all_lanes(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=3))
    scripts.enqueue_many([job(f"j{n}", lane="bulk" if n % 2 else "interactive") for n in range(10)])
    assert len(claimed_by(slots(scripts, 6))) == 3
    assert running(engine) == 3


def test_a_settle_makes_room_for_exactly_one_more(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=2))
    scripts.enqueue_many([job(f"j{n}") for n in range(6)])
    one, two, three = slots(scripts, 3)
    first = one.need()
    two.need()
    assert three.claim() is None
    settled = one.settle(first, claim=True)
    assert settled.claim is not None
    assert settled.claim.job is not None
    assert three.claim() is None
    assert running(engine) == 2


def test_a_lane_cap_holds_beside_the_tenants_own(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=4, lane_caps={"bulk": 1}))
    scripts.enqueue_many([job(f"b{n}") for n in range(5)] + [job(f"i{n}", lane="interactive") for n in range(5)])
    got = claimed_by(slots(scripts, 6))
    assert sorted(name[0] for name in got) == ["b", "i", "i", "i"]
    invariants.check(engine)


def test_a_lane_cap_of_nought_closes_only_that_lane(scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=None, lane_caps={"bulk": 0}))
    scripts.enqueue_many([job("b"), job("i", lane="interactive")])
    assert claimed_by(slots(scripts, 3)) == ["i"]


def test_a_cap_of_nought_starts_nothing_until_it_is_raised(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.set_policy(Policy("acme", cap=0))
    assert engine.redis.zcard(engine.keys.ring("bulk")) == 0
    slot = Slot(scripts)
    assert slot.claim() is None
    invariants.check(engine)
    scripts.set_policy(Policy("acme", cap=1))
    assert slot.need().id == "a"


def test_no_cap_is_no_limit(scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(50)])
    assert len(claimed_by(slots(scripts, 50))) == 50


def test_after_a_lowering_in_flight_only_falls(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=4))
    scripts.enqueue_many([job(f"j{n}") for n in range(12)])
    many = slots(scripts, 5)
    held = [(slot, claimed) for slot in many if (claimed := slot.claim())]
    scripts.set_policy(Policy("acme", cap=2))
    for left, (slot, claimed) in zip((3, 2), held[:2], strict=True):
        settled = slot.settle(claimed, claim=True)
        assert settled.claim is not None
        assert settled.claim.job is None
        assert (running(engine), many[4].claim()) == (left, None)
        invariants.check(engine, lowered=["acme"])
    slot, claimed = held[2]
    settled = slot.settle(claimed, claim=True)
    assert settled.claim is not None
    assert settled.claim.job is not None
    assert running(engine) == 2


def test_a_raised_cap_lets_waiting_work_start_at_once(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    many = slots(scripts, 5)
    assert len(claimed_by(many)) == 1
    scripts.set_policy(Policy("acme", cap=3))
    assert len(claimed_by([slot for slot in many if not slot.held])) == 2
    scripts.set_policy(Policy("acme", cap=None))
    assert len(claimed_by([slot for slot in many if not slot.held])) == 2
    assert running(engine) == 5


def test_a_slot_of_the_cap_is_freed_with_its_lease(engine: Engine, scripts: Scripts) -> None:
    """CC-01: the holder of the only slot was killed. LS-06: so were its host and all its slots."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job("a", max_attempts=1), job("b")])
    one, two = slots(scripts, 2)
    assert one.need().id == "a"
    assert two.claim() is None
    expire(engine, "a")
    assert scripts.rescue().dead == 1
    assert two.need().id == "b"


def test_a_killed_slot_frees_its_cap_at_once(scripts: Scripts) -> None:
    """CC-01: its supervisor saw it die."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue(job("a"))
    one, two = slots(scripts, 2)
    one.need()
    scripts.abandon(one.name)
    assert two.need().attempt == 2


def test_caps_hold_from_the_first_claim_of_a_fresh_worker(engine: Engine, scripts: Scripts) -> None:
    """CC-03: everything was shut down by force; new workers claim before anything was cleaned up."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job(f"j{n}", timeout_ms=3_600_000) for n in range(3)])
    Slot(scripts, "old").need()
    fresh = [Slot(Scripts(engine.redis, engine.keys), f"fresh{n}") for n in range(3)]
    assert claimed_by(fresh) == []
    expire(engine, "j0")
    scripts.rescue()
    assert claimed_by(fresh) == ["j0"]
    assert running(engine) == 1


@pytest.mark.parametrize("backlog", [1_000])
def test_a_tenant_at_its_cap_is_passed_over_not_waited_for(engine: Engine, scripts: Scripts, backlog: int) -> None:
    """CC-04: a long backlog at its cap and idle slots; one job of another tenant starts at the next claim."""
    scripts.set_policy(Policy("acme", cap=8))
    scripts.enqueue_many([job(f"j{n}") for n in range(backlog)])
    many = slots(scripts, 20)
    assert len(claimed_by(many)) == 8
    scripts.enqueue(job("quiet", tenant="beta"))
    assert many[19].need().id == "quiet"
    assert running(engine) == 8


def test_a_quiet_tenant_starts_within_the_first_picks(scripts: Scripts) -> None:
    """CC-12: one tenant has a thousand jobs, another comes with one."""
    scripts.enqueue_many([job(f"j{n}") for n in range(1_000)])
    scripts.enqueue(job("quiet", tenant="beta"))
    slot = Slot(scripts)
    assert "quiet" in [slot.need().id for _ in range(3)]


def test_many_job_types_and_keys_buy_a_tenant_nothing(scripts: Scripts) -> None:
    """CC-13: fairness is by tenant, whatever types, keys and lanes it spreads its load over."""
    scripts.enqueue_many([job(f"j{n}", job_type=f"t.{n % 50}", key=f"k{n}") for n in range(500)])
    scripts.enqueue_many([job(f"i{n}", lane="interactive", job_type=f"t.{n % 50}") for n in range(500)])
    scripts.enqueue(job("quiet", tenant="beta"))
    scripts.enqueue(job("quick", tenant="beta", lane="interactive"))
    slot = Slot(scripts)
    picks = [slot.need().id for _ in range(10)]
    assert "quick" in picks[:3]
    assert "quiet" in picks
