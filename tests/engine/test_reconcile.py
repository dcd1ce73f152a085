"""Reconcile: one queue is put right after outsiders, a partly restored Redis or a write that was cut off."""

from __future__ import annotations

import pytest
from rq import Queue
from rq.serializers import DefaultSerializer, JSONSerializer

from jobops.engine.client import Engine
from jobops.engine.records import Policy, Reconciled
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, dump, expire, job, queued, running, status


def test_a_queue_that_is_right_is_left_as_it_is(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b"), job("c", lane="interactive")])
    Slot(scripts, lanes=["bulk"]).need()
    before = dump(engine.redis)
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0, 0)
    assert scripts.reconcile("acme.interactive") == Reconciled(0, 0, 0)
    assert scripts.reconcile("beta.bulk") == Reconciled(0, 0, 0)
    assert dump(engine.redis) == before


@pytest.mark.parametrize("name", ["", "default", ".bulk", "acme.", "."])
def test_a_queue_that_is_not_ours_is_refused_by_name(engine: Engine, scripts: Scripts, name: str) -> None:
    before = dump(engine.redis)
    with pytest.raises(ValueError, match=r"is not <tenant>.<lane>"):
        scripts.reconcile(name)
    assert dump(engine.redis) == before


@pytest.mark.parametrize("serializer", [JSONSerializer, DefaultSerializer], ids=["json", "pickle"])
def test_a_plain_rq_enqueue_enters_the_ring(engine: Engine, scripts: Scripts, serializer: type) -> None:
    """Trap 12. It starts like any other, within the tenant's cap; what it names is for the runner to refuse."""
    queue = Queue("acme.bulk", connection=engine.redis, serializer=serializer)
    made = queue.enqueue("os.getcwd", job_id="outsider")
    assert Slot(scripts, "early").claim() is None
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 1, 1)
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0, 0)
    slot = Slot(scripts)
    claimed = slot.need()
    assert (claimed.id, claimed.job_type, claimed.max_attempts) == ("outsider", "", 1)
    assert slot.settle().outcome == "succeeded"
    assert made.get_status(refresh=True) == "finished"


def test_a_queue_of_an_unknown_tenant_stays_out_of_the_ring(engine: Engine, scripts: Scripts) -> None:
    Queue("nobody.bulk", connection=engine.redis, serializer=JSONSerializer).enqueue("os.getcwd")
    scripts.reconcile("nobody.bulk")
    assert Slot(scripts).claim() is None
    invariants.check(engine)
    scripts.set_policy(Policy("nobody"))
    assert Slot(scripts, "s2").claim() is not None


@pytest.mark.parametrize("paused", [False, True])
def test_deleted_indexes_are_made_again(engine: Engine, scripts: Scripts, paused: bool) -> None:
    scripts.enqueue_many([job("a"), job("b", tenant="beta")])
    if paused:
        scripts.pause("acme")
    engine.redis.delete(engine.keys.ring("bulk"), engine.keys.active("bulk"))
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0 if paused else 1, 1)
    assert scripts.reconcile("beta.bulk") == Reconciled(0, 1, 1)


def test_indexes_of_a_queue_that_an_outsider_emptied_go(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    engine.redis.delete("rq:queue:acme.bulk", "rq:job:a")
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 1, 1)


def test_a_backlog_keeps_its_age_when_its_index_is_made_again(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    runnable = scripts.now_ms() - 600_000
    engine.redis.hset("rq:job:a", "jo_runnable", runnable)
    engine.redis.delete(engine.keys.active("bulk"))
    scripts.reconcile("acme.bulk")
    assert engine.redis.zscore(engine.keys.active("bulk"), "acme") == runnable


def _no_lease_hash(engine: Engine) -> None:
    engine.redis.delete(engine.keys.lease("a"))


def _no_lease_entry(engine: Engine) -> None:
    engine.redis.zrem(engine.keys.leases(), "a")


def _neither(engine: Engine) -> None:
    _no_lease_hash(engine)
    _no_lease_entry(engine)


def _only_in_flight(engine: Engine) -> None:
    _neither(engine)
    engine.redis.delete("rq:wip:acme.bulk")


def _only_in_registry(engine: Engine) -> None:
    _neither(engine)
    engine.redis.delete(engine.keys.inflight("acme"))


BREAKS = [_no_lease_hash, _no_lease_entry, _neither, _only_in_flight, _only_in_registry]


@pytest.mark.parametrize("break_it", BREAKS)
@pytest.mark.parametrize("max_attempts", [1, 3])
def test_a_running_job_without_a_live_lease_is_recovered(
    engine: Engine, scripts: Scripts, break_it: object, max_attempts: int
) -> None:
    """LS-11: one sweep puts it back or lets it die, and its slot of the cap is free."""
    scripts.set_policy(Policy("acme", cap=1))
    scripts.enqueue(job("a", max_attempts=max_attempts))
    slot = Slot(scripts)
    slot.need()
    break_it(engine)  # type: ignore[operator]
    assert scripts.reconcile("acme.bulk").recovered == 1
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0, 0)
    assert (status(engine, "a"), running(engine)) == ("queued" if max_attempts > 1 else "failed", 0)
    invariants.check(engine)
    assert slot.settle().outcome == "stale"
    if max_attempts > 1:
        assert Slot(scripts, "s2").need().attempt == 2


def test_a_leaseless_job_with_garbled_numbers_is_recovered(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).need()
    engine.redis.hset("rq:job:a", mapping={"jo_started": "noon", "jo_attempt": "first"})
    _neither(engine)
    assert scripts.reconcile("acme.bulk").recovered == 1
    assert queued(engine) == ["a"]


def test_the_other_lanes_running_jobs_are_left_alone(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", lane="interactive"))
    slot = Slot(scripts)
    slot.need()
    before = dump(engine.redis)
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0, 0)
    assert dump(engine.redis) == before
    assert slot.settle().outcome == "succeeded"


def test_a_registry_entry_of_an_older_lease_goes_and_the_job_runs_on(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    engine.redis.zadd("rq:wip:acme.bulk", {"a:older": float("inf")})
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 0, 0)
    invariants.check(engine)
    assert slot.settle().outcome == "succeeded"


def test_leftovers_of_jobs_that_are_gone_hold_no_cap(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=1, lane_caps={"bulk": 1}))
    engine.redis.zadd(engine.keys.inflight("acme"), {"ghost": 1})
    engine.redis.zadd("rq:wip:acme.bulk", {"ghost:token": float("inf")})
    engine.redis.sadd(engine.keys.busy(), "acme")
    scripts.enqueue(job("a"))
    assert Slot(scripts, "early").claim() is None
    assert scripts.reconcile("acme.bulk") == Reconciled(0, 1, 0)
    assert engine.redis.smembers(engine.keys.busy()) == set()
    assert Slot(scripts).need().id == "a"


def test_what_expired_in_the_registries_is_taken_out(engine: Engine, scripts: Scripts) -> None:
    past, future = scripts.now_ms() // 1000 - 5, scripts.now_ms() // 1000 + 500
    for name in ("finished", "failed", "canceled"):
        engine.redis.zadd(f"rq:{name}:acme.bulk", {"old": past, "new": future, "dead": float("inf")})
    scripts.reconcile("acme.bulk")
    for name in ("finished", "failed", "canceled"):
        assert engine.redis.zrange(f"rq:{name}:acme.bulk", 0, -1) == [b"new", b"dead"]


def test_two_sweeps_and_a_rescue_lose_one_attempt(engine: Engine, scripts: Scripts) -> None:
    """Trap 7."""
    scripts.enqueue(job("a", max_attempts=9))
    Slot(scripts).need()
    expire(engine, "a")
    scripts.rescue()
    scripts.reconcile("acme.bulk")
    scripts.reconcile("acme.bulk")
    assert queued(engine) == ["a"]
    assert Slot(scripts, "s2").need().attempt == 2
