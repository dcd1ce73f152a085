"""Renew: a lease lasts as long as its slot asks, and no longer than its job may run."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, dump, expire, job, slots


def test_each_lease_is_extended_by_its_own_length(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", lease_ms=10_000), job("b", lease_ms=25_000)])
    claimed = [slot.need() for slot in slots(scripts, 2)]
    expire(engine, "a", ago_ms=5)
    expire(engine, "b", ago_ms=5)
    before = scripts.now_ms()
    assert scripts.renew((one.id, one.token) for one in claimed) == [True, True]
    for name, length in (("a", 10_000), ("b", 25_000)):
        expiry = engine.redis.zscore(engine.keys.leases(), name)
        assert before + length <= expiry <= scripts.now_ms() + length
        assert engine.redis.zscore(engine.keys.inflight("acme"), name) == expiry


def test_its_places_at_gates_last_as_long(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("a", resource="stripe", lease_ms=10_000, timeout_ms=60_000))
    claimed = Slot(scripts).need()
    place = engine.keys.inflight_resource("stripe")
    expire(engine, "a", ago_ms=5)
    engine.redis.zadd(place, {"a": 1})
    assert scripts.renew([("a", claimed.token)]) == [True]
    assert engine.redis.zscore(place, "a") == engine.redis.zscore(engine.keys.leases(), "a")


@pytest.mark.leaves_broken
def test_what_stands_among_the_leases_no_more_is_not_renewed(engine: Engine, scripts: Scripts) -> None:
    """Its record is a leftover: whoever took it out of the leases ends it."""
    scripts.enqueue(job("a"))
    claimed = Slot(scripts).need()
    engine.redis.zrem(engine.keys.leases(), "a")
    before = dump(engine.redis)
    assert scripts.renew([("a", claimed.token)]) == [False]
    assert dump(engine.redis) == before


def test_nothing_to_renew_asks_nothing(scripts: Scripts) -> None:
    assert scripts.renew([]) == []


def test_a_lease_never_lasts_past_the_time_out_and_the_kill(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", timeout_ms=1_000, lease_ms=60_000))
    claimed = Slot(scripts).need()
    started = int(engine.redis.hget(engine.keys.lease("a"), "started")) // 1000
    assert scripts.renew([("a", claimed.token)]) == [True]
    assert engine.redis.zscore(engine.keys.leases(), "a") == started + 1_000 + 15_000


def test_when_the_time_is_over_renewal_is_refused(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", timeout_ms=1_000))
    slot = Slot(scripts)
    claimed = slot.need()
    engine.redis.hset(engine.keys.lease("a"), "started", (scripts.now_ms() - 17_000) * 1000)
    before = dump(engine.redis)
    assert scripts.renew([("a", claimed.token)]) == [False]
    assert dump(engine.redis) == before
    assert slot.settle().outcome == "succeeded"


def test_a_job_that_never_was_is_not_renewed(engine: Engine, scripts: Scripts) -> None:
    before = dump(engine.redis)
    assert scripts.renew([("missing", "token"), ("", "")]) == [False, False]
    assert dump(engine.redis) == before


def test_a_long_job_pays_while_it_runs_and_once(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", timeout_ms=3_600_000))
    slot = Slot(scripts)
    claimed = slot.need()
    engine.redis.hincrby(engine.keys.lease("a"), "started", -5_000_000)
    start = int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) / 1000
    charged = float(engine.redis.hget(engine.keys.lease("a"), "charged"))
    scripts.renew([("a", claimed.token)])
    after = int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) / 1000
    assert 5_000 - charged <= after - start <= 7_000 - charged
    slot.settle()
    end = int(engine.redis.hget(engine.keys.tenant("acme"), "vt:bulk")) / 1000
    assert 0 <= end - after <= 2_000


def test_a_dropped_tenants_lease_is_renewed(scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    claimed = Slot(scripts).need()
    scripts.drop_policy("acme")
    assert scripts.renew([("a", claimed.token)]) == [True]
