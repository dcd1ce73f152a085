"""Rescue: expired leases end as lost attempts, once, and never those of a job that ended or was renewed."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import Policy, Rescued
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, dump, expire, job, queued, running, slots, status
from tests.tools import wait_for


def test_without_leases_nothing_moves(scripts: Scripts) -> None:
    assert scripts.rescue() == Rescued(0, 0, False)


def test_an_expired_lease_puts_its_job_first_in_its_queue_as_the_next_attempt(engine: Engine, scripts: Scripts) -> None:
    """LS-03: a job with three retries whose worker was killed hard; at every instant it is in exactly one place."""
    scripts.enqueue_many([job("a", max_attempts=4), job("b")])
    Slot(scripts, "s1", worker="gone").need()
    assert scripts.rescue() == Rescued(0, 0, False)
    expire(engine, "a")
    invariants.check(engine)
    assert scripts.rescue() == Rescued(1, 0, False)
    assert queued(engine) == ["a", "b"]
    claimed = Slot(scripts, "s2").need()
    assert (claimed.id, claimed.attempt, claimed.max_attempts) == ("a", 2, 4)
    view = read_job(engine, "a")
    assert view is not None
    assert [(past.number, past.worker, past.outcome, past.error_class) for past in view.history] == [
        (1, "gone", "worker_lost", "WorkerLost")
    ]
    assert "(gone) was not heard of" in view.history[0].error


def test_a_lease_really_expires_on_redis_clock(scripts: Scripts) -> None:
    scripts.enqueue(job("a", lease_ms=1))
    Slot(scripts).need()
    wait_for(lambda: scripts.rescue().moved == 1, seconds=3)


def test_a_lost_worker_on_the_last_attempt_is_a_death(engine: Engine, scripts: Scripts) -> None:
    """LS-03, LS-10: attempts are spent; the late finish is refused."""
    scripts.enqueue(job("a", max_attempts=1))
    slot = Slot(scripts)
    slot.need()
    expire(engine, "a")
    assert scripts.rescue() == Rescued(0, 1, False)
    view = read_job(engine, "a")
    assert view is not None
    assert (view.state, view.reason, view.error_class) == ("dead", "worker_lost", "WorkerLost")
    assert slot.settle().outcome == "stale"
    assert status(engine, "a") == "failed"


def test_only_expired_leases_move(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(4)])
    for slot in slots(scripts, 4):
        slot.need()
    expire(engine, "j1")
    expire(engine, "j3")
    assert scripts.rescue().moved == 2
    assert sorted(queued(engine)) == ["j1", "j3"]
    assert running(engine) == 2


def test_no_more_than_the_limit_moves_the_longest_expired_first(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    for n, slot in enumerate(slots(scripts, 5)):
        slot.need()
        expire(engine, f"j{n}", ago_ms=60_000 * (n + 1))
    assert scripts.rescue(limit=2).moved == 2
    assert sorted(queued(engine)) == ["j3", "j4"]
    assert scripts.rescue(limit=100).moved == 3


def test_a_renewed_lease_is_not_rescued(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    expire(engine, "a", ago_ms=10)
    assert scripts.renew([("a", claimed.token)]) == [True]
    assert scripts.rescue().moved == 0
    assert slot.settle().outcome == "succeeded"


def test_two_rescuers_lose_an_attempt_once(engine: Engine, scripts: Scripts) -> None:
    """Trap 7. RT-09 counts on it."""
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    expire(engine, "a")
    assert (scripts.rescue().moved, scripts.rescue().moved) == (1, 0)
    assert Slot(scripts, "s2").need().attempt == 2


def test_a_fresh_lease_of_a_job_that_was_lost_before_is_not_touched(engine: Engine, scripts: Scripts) -> None:
    """LS-09, with the job given to a second worker in between."""
    scripts.enqueue(job("a"))
    Slot(scripts, "one").need()
    expire(engine, "a")
    scripts.rescue()
    two = Slot(scripts, "two")
    two.need()
    before = dump(engine.redis)
    scripts.rescue()
    after = dump(engine.redis)
    assert before.pop(b"jobops:cell") != after.pop(b"jobops:cell")  # its tick
    assert before == after
    assert two.settle().outcome == "succeeded"


@pytest.mark.parametrize("score", [1, float("inf")])
def test_what_is_left_of_a_lease_never_revives_a_job_that_finished(
    engine: Engine, scripts: Scripts, score: float
) -> None:
    """LS-01: a finished job is final, whichever of its entries survived: registry, index, in flight, or the lease."""
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    claimed = slot.need()
    lease = engine.redis.hgetall(engine.keys.lease("a"))
    slot.settle()
    past = scripts.now_ms() - 60_000
    engine.redis.zadd("rq:wip:acme.bulk", {f"a:{claimed.token}": score})
    engine.redis.zadd(engine.keys.leases(), {"a": past})
    engine.redis.zadd(engine.keys.inflight("acme"), {"a": past})
    engine.redis.sadd(engine.keys.busy(), "acme")
    engine.redis.hset(engine.keys.lease("a"), mapping=lease)
    for _ in range(2):
        assert scripts.rescue() == Rescued(0, 0, False)
        assert scripts.reconcile("acme.bulk").recovered == 0
    assert status(engine, "a") == "finished"
    assert (queued(engine), scripts.dead_batch(), running(engine)) == ([], [], 0)
    invariants.check(engine)


def test_the_leftover_of_a_lease_frees_its_place_under_the_cap(engine: Engine, scripts: Scripts) -> None:
    """LS-01, CC-01."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue_many([job("a"), job("b")])
    Slot(scripts).need()
    engine.redis.hset("rq:job:a", "status", "finished")
    engine.redis.expire("rq:job:a", 500)
    expire(engine, "a")
    scripts.rescue()
    assert Slot(scripts, "s2").need().id == "b"


def test_a_lost_job_whose_record_vanished_is_a_death_that_names_its_queue(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    engine.redis.delete("rq:job:a")
    expire(engine, "a")
    assert scripts.rescue().dead == 1
    (death,) = scripts.dead_batch()
    names = ("origin", "jo_tenant", "jo_lane", "jo_type")
    assert [death.fields[name.encode()] for name in names] == [b"acme.bulk", b"acme", b"bulk", b"t.work"]


def test_a_job_an_outsider_put_back_while_it_ran_is_not_listed_twice(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    engine.redis.hset("rq:job:a", "status", "queued")
    engine.redis.rpush("rq:queue:acme.bulk", "a")
    expire(engine, "a")
    scripts.rescue()
    assert queued(engine) == ["a"]
    scripts.reconcile("acme.bulk")


def test_after_a_gap_nothing_moves_for_one_lease_and_then_it_does(engine: Engine, scripts: Scripts) -> None:
    """Trap 5: Redis was away longer than a lease; live workers renew first."""
    scripts.enqueue_many([job("alive"), job("lost")])
    one, two = slots(scripts, 2)
    alive = one.need()
    two.need()
    scripts.rescue()
    expire(engine, "alive")
    expire(engine, "lost")
    engine.redis.hset(engine.keys.cell(), "rescue_tick", scripts.now_ms() - 20_000)
    assert scripts.rescue(gap_ms=5_000, hold_ms=300) == Rescued(0, 0, True)
    assert scripts.rescue(gap_ms=5_000, hold_ms=300) == Rescued(0, 0, True)
    assert scripts.renew([("alive", alive.token)]) == [True]
    wait_for(lambda: scripts.rescue(gap_ms=5_000, hold_ms=300) == Rescued(1, 0, False), seconds=5)
    assert queued(engine) == ["lost"]
    assert one.settle(alive).outcome == "succeeded"


def test_a_first_rescue_holds_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    expire(engine, "a")
    assert scripts.rescue(gap_ms=1) == Rescued(1, 0, False)


def test_a_clock_that_was_set_back_holds_rescue_no_longer_than_a_lease(engine: Engine, scripts: Scripts) -> None:
    now = scripts.now_ms()
    engine.redis.hset(engine.keys.cell(), mapping={"rescue_tick": now + 3_600_000, "rescue_hold": now + 3_630_000})
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    expire(engine, "a")
    assert scripts.rescue(hold_ms=30_000).moved == 1


@pytest.mark.parametrize("field", ["started", "charged", "attempt", "worker", "tenant", "lane", "type"])
def test_half_a_lease_stops_no_rescue_and_its_job_is_found(engine: Engine, scripts: Scripts, field: str) -> None:
    """LS-18: recovery never stands still because of one entry."""
    scripts.enqueue_many([job("half"), job("whole")])
    for slot in slots(scripts, 2):
        slot.need()
    expire(engine, "half", ago_ms=90_000)
    expire(engine, "whole")
    engine.redis.hdel(engine.keys.lease("half"), field)
    assert scripts.rescue() == Rescued(1, 0, False)
    assert queued(engine) == ["whole"]
    assert scripts.reconcile("acme.bulk").recovered == 1
    assert queued(engine) == ["half", "whole"]


def test_an_entry_without_its_lease_goes_and_reconcile_finds_the_job(engine: Engine, scripts: Scripts) -> None:
    """LS-11: marked running without a lease; one sweep of its queue recovers it."""
    scripts.enqueue(job("a", max_attempts=2))
    slot = Slot(scripts)
    slot.need()
    expire(engine, "a")
    engine.redis.delete(engine.keys.lease("a"))
    assert scripts.rescue() == Rescued(0, 0, False)
    assert engine.redis.zcard(engine.keys.leases()) == 0
    assert scripts.reconcile("acme.bulk").recovered == 1
    assert (status(engine, "a"), queued(engine)) == ("queued", ["a"])
    view = read_job(engine, "a")
    assert view is not None
    assert view.history[0].error == "it ran without a lease"
