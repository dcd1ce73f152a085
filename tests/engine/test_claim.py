"""Claim: its answers, its repetition, and what else may stand in a queue."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import SlotClosed
from jobops.engine.records import Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, LANES, Slot, dump, expire, job, queued, running, status


def test_a_claim_leases_the_oldest_job(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", lease_ms=20_000), job("b")])
    before = scripts.now_ms()
    claimed = Slot(scripts, worker="w7").need()
    assert (claimed.id, status(engine, "a"), queued(engine)) == ("a", "started", ["b"])
    assert before + 20_000 <= engine.redis.zscore(engine.keys.leases(), "a") <= scripts.now_ms() + 20_000
    assert engine.redis.hget("rq:job:a", "worker_name") == b"w7"
    assert len(claimed.token) == 24


def test_no_two_leases_have_the_same_token(scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(20)])
    slot = Slot(scripts)
    assert len({slot.need().token for _ in range(20)}) == 20


def test_without_work_the_slot_is_told_how_long_to_wait(scripts: Scripts) -> None:
    answer = scripts.claim("s", 1, "w", LANES, block_ms=700)
    assert (answer.job, answer.wait_ms) == (None, 700)


def test_only_the_lanes_a_slot_serves_are_looked_at(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", lane="bulk"))
    assert Slot(scripts, "narrow", lanes=["interactive"]).claim() is None
    assert Slot(scripts, "wide").need().id == "a"


def test_the_same_request_gets_the_same_job(engine: Engine, scripts: Scripts) -> None:
    """Trap 1: a reply was lost and the request is sent again."""
    scripts.enqueue_many([job("a"), job("b")])
    first = scripts.claim("s", 1, "w", LANES)
    before = dump(engine.redis)
    assert scripts.claim("s", 1, "w", LANES) == first
    assert dump(engine.redis) == before
    assert running(engine) == 1


def test_the_same_request_after_an_empty_answer_gets_what_came_since_and_only_once(
    engine: Engine, scripts: Scripts
) -> None:
    assert scripts.claim("s", 1, "w", LANES).job is None
    scripts.enqueue_many([job("a"), job("b")])
    first = scripts.claim("s", 1, "w", LANES)
    assert first.job is not None
    assert scripts.claim("s", 1, "w", LANES) == first
    assert queued(engine) == ["b"]


def test_the_same_request_after_its_lease_was_lost_gets_a_new_one(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    first = scripts.claim("s", 1, "w", LANES).job
    expire(engine, "a")
    scripts.rescue()
    again = scripts.claim("s", 1, "w", LANES).job
    assert first is not None
    assert again is not None
    assert (again.id, again.attempt) == ("a", 2)
    assert again.token != first.token


def test_an_older_request_is_refused_and_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts, "s")
    slot.run()
    before = dump(engine.redis)
    with pytest.raises(SlotClosed, match="slot: s is closed; a new slot process must take a new id"):
        scripts.claim("s", 1, "w", LANES)
    assert dump(engine.redis) == before


def test_an_abandoned_slot_is_closed_for_ever(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts, "s")
    slot.need()
    assert scripts.abandon("s") == "retry"
    before = dump(engine.redis)
    with pytest.raises(SlotClosed):
        slot.claim()
    with pytest.raises(SlotClosed):
        scripts.claim("s", 1, "w", LANES)
    assert dump(engine.redis) == before
    assert Slot(scripts, "s2").need().attempt == 2


def test_a_slot_abandoned_before_its_first_request_reaches_redis_takes_nothing(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    assert scripts.abandon("s") == "none"
    with pytest.raises(SlotClosed):
        scripts.claim("s", 1, "w", LANES)
    assert Slot(scripts, "s2").need().attempt == 1


def test_what_is_kept_of_a_slot_goes_in_the_end(engine: Engine, scripts: Scripts) -> None:
    Slot(scripts, "claimed").claim()
    scripts.abandon("abandoned")
    scripts.settle("settled", 1, "a", "t", BOOM)
    for name, seconds in {"claimed": 604_800, "settled": 604_800, "abandoned": 86_400}.items():
        assert seconds - 60 < engine.redis.ttl(engine.keys.slot(name)) <= seconds


def test_abandoning_twice_loses_the_job_once(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts, "s").need()
    assert [scripts.abandon("s"), scripts.abandon("s")] == ["retry", "none"]
    assert queued(engine) == ["a"]


def test_an_idle_slot_that_is_abandoned_waits_no_more(engine: Engine, scripts: Scripts) -> None:
    Slot(scripts, "s").claim()
    assert engine.redis.zcard(engine.keys.idle("bulk")) == 1
    scripts.abandon("s")
    assert engine.redis.zcard(engine.keys.idle("bulk")) == 0


@pytest.mark.leaves_broken
def test_a_job_that_plain_rq_enqueued_starts_without_a_type(engine: Engine, scripts: Scripts) -> None:
    """Nothing of it is trusted: without a type it cannot be resolved, so its runner lets it die at once."""
    engine.redis.hset("rq:job:x", mapping={"status": "queued", "origin": "acme.bulk", "data": b"\x80\x04garbage"})
    engine.redis.rpush("rq:queue:acme.bulk", "x")
    scripts.reconcile("acme.bulk")
    claimed = Slot(scripts).need()
    assert (claimed.id, claimed.job_type, claimed.attempt, claimed.max_attempts) == ("x", "", 1, 1)
    assert claimed.data == b"\x80\x04garbage"


@pytest.mark.parametrize("field", ["jo_attempt", "jo_max_attempts", "jo_timeout", "jo_lease", "jo_releases"])
def test_a_job_with_a_garbled_number_never_blocks_the_queue(engine: Engine, scripts: Scripts, field: str) -> None:
    scripts.enqueue_many([job("garbled"), job("next")])
    engine.redis.hset("rq:job:garbled", field, "many")
    slot = Slot(scripts)
    ids = []
    while claimed := slot.claim():
        ids.append(claimed.id)
        slot.settle(claimed, BOOM)
        if len(ids) > 20:
            break
    assert "next" in ids
    assert status(engine, "garbled") in {"failed", "scheduled"}


def test_a_tenant_without_a_policy_starts_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.drop_policy("acme")
    assert Slot(scripts).claim() is None
    scripts.set_policy(Policy("acme"))
    assert Slot(scripts, "s2").need().id == "a"
