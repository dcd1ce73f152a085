"""The checker itself: it is silent about a right Redis and names what is wrong in a broken one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, job

Break = Callable[[Engine], object]
BREAKS: dict[str, tuple[Break, str]] = {
    "lost from its queue": (
        lambda e: e.redis.lrem("rq:queue:acme.bulk", 1, "waits"),
        "job waits is queued and stands in",
    ),
    "listed twice": (lambda e: e.redis.rpush("rq:queue:acme.bulk", "waits"), "job waits is queued and stands in"),
    "in another queue": (lambda e: e.redis.rpush("rq:queue:beta.bulk", "waits"), "job waits is queued and stands in"),
    "delayed and waiting": (lambda e: e.redis.zadd(RQ_SCHEDULED, {"waits": 1}), "job waits is queued and stands in"),
    "delayed and gone": (lambda e: e.redis.zrem(RQ_SCHEDULED, "later"), "job later is scheduled and stands in"),
    "ended and waiting": (lambda e: e.redis.rpush("rq:queue:acme.bulk", "done"), "job done is finished and stands in"),
    "dead and forgotten": (lambda e: e.redis.delete(e.keys.dead()), "job died is dead, not in the intake"),
    "ended for ever": (lambda e: e.redis.persist("rq:job:done"), "job done ended"),
    "vanishing": (lambda e: e.redis.expire("rq:job:waits", 50), "job waits is queued and vanishes"),
    "without a job": (lambda e: e.redis.delete("rq:job:waits"), "waits stands in"),
    "unlisted queue": (lambda e: e.redis.delete("rq:queues"), "rq:queue:acme.bulk is not in rq:queues"),
    "no lease": (lambda e: e.redis.delete(e.keys.lease("runs")), "leases and lease hashes"),
    "no expiry": (lambda e: e.redis.zrem(e.keys.leases(), "runs"), "job runs is started and stands in"),
    "not in flight": (lambda e: e.redis.delete(e.keys.inflight("acme")), "in flight is"),
    "another expiry": (lambda e: e.redis.zadd(e.keys.inflight("acme"), {"runs": 5}), "in flight is"),
    "not busy": (lambda e: e.redis.delete(e.keys.busy()), "busy tenants"),
    "not started": (lambda e: e.redis.delete("rq:wip:acme.bulk"), "rq:wip:acme.bulk"),
    "leftover": (lambda e: e.redis.zadd("rq:wip:beta.bulk", {"x:y": 1}), "rq:wip:beta.bulk"),
    "half a lease": (lambda e: e.redis.hdel(e.keys.lease("runs"), "charged"), "lease runs is incomplete"),
    "not in the ring": (lambda e: e.redis.zrem(e.keys.ring("bulk"), "acme"), "acme may run in bulk and is not in its"),
    "not active": (lambda e: e.redis.zrem(e.keys.active("bulk"), "acme"), "active tenants of bulk"),
    "without work": (lambda e: e.redis.zadd(e.keys.ring("bulk"), {"beta": 0}), "beta is in the ring of bulk without"),
    "other time": (lambda e: e.redis.zincrby(e.keys.ring("bulk"), 5, "acme"), "acme stands at"),
    "above its cap": (lambda e: e.redis.hset(e.keys.tenant("acme"), "cap", 0), "acme runs 1 jobs, its cap is 0"),
    "above the lane's cap": (lambda e: e.redis.hset(e.keys.tenant("acme"), "cap:bulk", 0), "its cap:bulk is 0"),
    "key of a dead job": (lambda e: e.redis.set(e.keys.unique("acme", "t.work", "k"), "died"), "is held by died"),
    "key not held": (lambda e: e.redis.delete(e.keys.unique("acme", "t.work", "k")), "live job waits has key"),
    "attempts": (lambda e: e.redis.hset("rq:job:waits", "jo_attempt", 9), "job waits is at attempt 9 of 5"),
    "an outcome that was taken": (lambda e: e.redis.delete(e.keys.outcomes()), "the outcome of replay does not wait"),
    "an outcome nobody finds": (lambda e: e.redis.delete(e.keys.outcome_of()), "the outcome of replay waits, and"),
    "attempt of the lease": (lambda e: e.redis.hset("rq:job:runs", "jo_attempt", 4), "lease runs is attempt 1"),
}


@pytest.fixture
def busy(engine: Engine, scripts: Scripts) -> Engine:
    scripts.set_policy(Policy("acme", cap=5))
    scripts.enqueue_many([job("done"), job("died"), job("runs"), job("waits", key="k"), job("later", delay_ms=90_000)])
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.failed("poison"))
    slot.need()
    scripts.enqueue(job("replay", replay_of="x:1"))
    scripts.cancel("replay")
    return engine


def test_a_right_redis_is_right(busy: Engine) -> None:
    assert invariants.violations(busy) == []


@pytest.mark.leaves_broken
@pytest.mark.parametrize("name", BREAKS)
def test_what_is_broken_is_named(busy: Engine, name: str) -> None:
    damage, words = BREAKS[name]
    damage(busy)
    found = invariants.violations(busy)
    assert any(words in line for line in found), found
    with pytest.raises(AssertionError, match="broken invariants"):
        invariants.check(busy)


@pytest.mark.leaves_broken
def test_a_lowered_cap_and_tombstones_are_forgiven_when_told(busy: Engine) -> None:
    busy.scripts.set_policy(Policy("acme", cap=0))
    assert invariants.violations(busy)
    assert invariants.violations(busy, lowered=["acme"]) == []
    busy.redis.delete("rq:job:waits", busy.keys.unique("acme", "t.work", "k"))
    assert invariants.violations(busy, lowered=["acme"])
    assert invariants.violations(busy, lowered=["acme"], tombstones=True) == []
