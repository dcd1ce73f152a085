"""Jobs that a claim passes over: what that costs their tenant, how many it looks at, and who hears of them."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.rates import Rate
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import LANES, Slot, expire, job, queued, slots, status


def test_a_tenant_whose_jobs_are_all_passed_over_pays_a_turn_for_it(engine: Engine, scripts: Scripts) -> None:
    """Else it would stay first, and the others would wait until all of what is gone is looked at."""
    scripts.enqueue_many([job(f"gone{n}") for n in range(40)])
    scripts.enqueue_many([job("left"), job("other", "beta")])
    engine.redis.delete(*(f"rq:job:gone{n}" for n in range(40)))
    engine.redis.zadd(engine.keys.ring("bulk"), {"acme": 0, "beta": 500})
    engine.redis.hset(engine.keys.tenant("beta"), "vt:bulk", 500)
    slot = Slot(scripts)
    assert slot.need().id == "other"
    assert len(queued(engine)) == 25  # one look passes over 16
    slot.settle()
    assert slot.need().id == "left"


def test_one_claim_sends_no_more_than_some_jobs_to_a_closed_gate(engine: Engine, scripts: Scripts) -> None:
    """A claim is one step of Redis: it asks again for the rest."""
    scripts.set_limit("stripe", 0, None)
    scripts.enqueue_many([job(f"w{n}", resource="stripe") for n in range(200)])
    answer = scripts.claim("s", 1, "w", LANES)
    assert (answer.job, answer.wait_ms) == (None, 0)
    assert 64 <= engine.redis.zcard(engine.keys.waiting("stripe")) < 80
    assert Slot(scripts, "other").claim() is None
    assert engine.redis.zcard(engine.keys.waiting("stripe")) == 200


@pytest.mark.parametrize(
    "changed",
    [{"status": "canceled"}, {"jo_attempt": "7"}, {"jo_tenant_uid": "another"}],
    ids=["cancelled", "exhausted", "of another customer"],
)
def test_a_job_let_back_into_another_lane_while_one_is_taken_wakes_a_sleeper(
    engine: Engine, scripts: Scripts, changed: dict[str, str]
) -> None:
    """The first of the queue does not start, and what a gate had offered it goes to a lane found empty before."""
    scripts.set_policy(Policy("acme", cap=None, uid="theirs", version=1))
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("holds", resource="stripe"))
    holder, filler, sleeper = Slot(scripts, "holder"), Slot(scripts, "filler"), Slot(scripts, "sleeper", ["bulk"])
    holder.need()
    scripts.enqueue(job("offered", lane="interactive", resource="stripe", max_attempts=7))
    assert filler.claim() is None
    scripts.enqueue(job("waits", "beta", resource="stripe"))
    assert filler.claim() is None
    assert sleeper.claim() is None
    holder.settle()
    assert [status(engine, each) for each in ("offered", "waits")] == ["queued", "rate_limited"]
    scripts.enqueue(job("plain", lane="interactive"))
    engine.redis.hset("rq:job:offered", mapping=changed)
    if "status" in changed:
        engine.redis.expire("rq:job:offered", 100)
    engine.redis.delete(engine.keys.wake("bulk"))
    assert Slot(scripts, "taker").need().id == "plain"
    assert status(engine, "waits") == "queued"
    assert engine.redis.llen(engine.keys.wake("bulk")) == 1


def test_as_a_lane_cap_gets_room_the_tenants_next_job_comes_into_play(engine: Engine, scripts: Scripts) -> None:
    """Without a claim in the same call, and with no cap over all lanes."""
    scripts.set_policy(Policy("acme", cap=None, lane_caps={"bulk": 1}))
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    slot.need()
    assert engine.redis.zscore(engine.keys.ring("bulk"), "acme") is None
    slot.settle()
    assert engine.redis.zscore(engine.keys.ring("bulk"), "acme") is not None


def test_what_a_request_was_given_and_another_slot_runs_by_now_is_not_given_again(
    engine: Engine, scripts: Scripts
) -> None:
    """Its lease ran out, and the job began anew under another token: who asks late does not get that one's lease."""
    scripts.enqueue(job("a"))
    first = scripts.claim("late", 1, "w", LANES).job
    assert first is not None
    expire(engine, "a")
    assert scripts.rescue().moved == 1
    other = Slot(scripts, "other").need()
    assert other.id == "a"
    again = scripts.claim("late", 1, "w", LANES).job
    assert again is None
    assert scripts.renew([("a", first.token), ("a", other.token)]) == [False, True]


def test_a_claim_brings_the_lanes_level_up_to_its_own(engine: Engine, scripts: Scripts) -> None:
    """A lane that comes in later starts there, and has saved nothing up."""
    cell = engine.keys.cell()
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    slot = Slot(scripts)
    slot.need()
    level = 0.0
    for _ in range(3):
        slot.settle()
        level = max(level, float(engine.redis.hget(cell, "vtime:bulk")))
        slot.need()
        assert float(engine.redis.hget(cell, "lane_vnow")) == level > 0
    floor = engine.redis.hget(cell, "lane_vnow")
    scripts.enqueue(job("i", lane="interactive"))
    assert engine.redis.hget(cell, "vtime:interactive") == floor


def test_while_all_is_paused_no_time_that_comes_wakes_a_slot(scripts: Scripts) -> None:
    """A tenant's next token comes in a second, and nobody could start anything with it."""
    scripts.set_policy(Policy("acme", cap=None, rate=Rate(1, 1_000)))
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    slot.run()
    parked = scripts.claim("other", 1, "w", LANES, block_ms=9_000)
    assert parked.job is None
    assert 0 < parked.wait_ms <= 1_000
    scripts.pause()
    assert scripts.claim("other", 2, "w", LANES, block_ms=9_000).wait_ms == 9_000


def test_as_a_lane_cap_gets_room_the_tenants_waiters_take_their_turns_again(engine: Engine, scripts: Scripts) -> None:
    """The gate opened while its tenant could start nothing in that lane, so that its queue lost its turn."""
    scripts.set_policy(Policy("acme", cap=None, lane_caps={"bulk": 1}))
    scripts.set_limit("stripe", 0, None)
    scripts.enqueue(job("w", resource="stripe"))
    assert Slot(scripts, "filler").claim() is None
    scripts.enqueue(job("plain"))
    slot = Slot(scripts)
    assert slot.need().id == "plain"
    scripts.set_limit("stripe", 1, None)
    assert status(engine, "w") == "rate_limited"
    slot.settle()
    assert status(engine, "w") == "queued"


@pytest.mark.parametrize(("attempts", "lane"), [(1, "bulk"), (1, "interactive"), (2, "interactive")])
def test_all_that_a_tenant_loses_at_once_counts_as_room(
    engine: Engine, scripts: Scripts, attempts: int, lane: str
) -> None:
    """Its cap was lowered while they ran: only as the last of them ends may it start one more."""
    scripts.enqueue_many([job("a", max_attempts=attempts), job("b", lane=lane, max_attempts=attempts)])
    for each in slots(scripts, 2):
        each.need()
    scripts.set_policy(Policy("acme", cap=1, version=1))
    scripts.enqueue(job("w"))
    for each in ("a", "b"):
        expire(engine, each)
    scripts.rescue()
    assert engine.redis.zscore(engine.keys.ring("bulk"), "acme") is not None


def test_who_comes_in_starts_at_the_time_of_whoever_was_served_last(engine: Engine, scripts: Scripts) -> None:
    """Also while a ring is never empty: who slept has saved nothing up."""
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    ring, served = engine.keys.ring("bulk"), 0.0
    for slot in slots(scripts, 3):
        served = engine.redis.zscore(ring, "acme")
        slot.need()
    scripts.enqueue(job("late", "beta"))
    assert engine.redis.zscore(ring, "beta") == served > 0


def test_virtual_times_of_many_years_keep_their_last_digit(engine: Engine, scripts: Scripts) -> None:
    years = 2**52 + 1
    engine.redis.hset(engine.keys.tenant("acme"), "vt:bulk", years)
    scripts.enqueue_many([job("a"), job("b")])
    Slot(scripts).need()
    assert int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) == years + 100_000


@pytest.mark.leaves_broken
def test_a_slot_that_finds_more_overdue_than_one_claim_looks_after_sleeps_no_time_below_zero(
    engine: Engine, scripts: Scripts
) -> None:
    past = scripts.now_ms() - 1_000
    engine.redis.zadd(engine.keys.parked(), {f"ghost{n:02}": past for n in range(40)})
    engine.redis.hset(engine.keys.cell(), "parked", past)
    assert scripts.claim("s", 1, "w", LANES).wait_ms == 1


def test_an_enqueue_behind_an_outsiders_push_makes_its_tenant_active(engine: Engine, scripts: Scripts) -> None:
    """Somebody put a job back by hand, without a word to anybody."""
    scripts.enqueue(job("theirs"))
    engine.redis.zrem(engine.keys.active("bulk"), "acme")
    engine.redis.zrem(engine.keys.ring("bulk"), "acme")
    engine.redis.srem("rq:queues", "rq:queue:acme.bulk")
    scripts.enqueue(job("ours"))
    assert engine.redis.zscore(engine.keys.active("bulk"), "acme") is not None
    assert engine.redis.zscore(engine.keys.ring("bulk"), "acme") is not None
    assert engine.redis.sismember("rq:queues", "rq:queue:acme.bulk")


def test_an_attempt_that_a_dead_slot_leaves_is_counted_as_lost(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    assert scripts.abandon(slot.name) == "retry"
    lost = [
        engine.redis.hget(key, "acme|lost") for key in engine.redis.scan_iter(f"{engine.keys.prefix}:minute:*:tenant")
    ]
    assert [int(count) for count in lost if count] == [1]
