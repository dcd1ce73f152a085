"""A place at a gate goes with its lease: once, whoever ends it, and then to the next who waits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import BOOM, Slot, expire, job, queued, status
from tests.engine.test_gates import gate
from tests.engine.virtual_time import virtual


def test_a_place_is_free_once_for_each_lease_and_never_more(engine: Engine, scripts: Scripts) -> None:
    """CC-02: judged dead while it ran, replaced, and then it ends as well, ten times: one place, never two."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe", max_attempts=100) for n in range(3)])
    zombies = []
    for n in range(10):
        slot = Slot(scripts, f"zombie{n}")
        zombies.append((slot, slot.need()))
        assert gate(engine).inflight == 1
        expire(engine, zombies[-1][1].id)
        engine.redis.zadd(engine.keys.inflight_resource("stripe"), {zombies[-1][1].id: 1}, xx=True)
        assert scripts.rescue(gap_ms=2**40).moved == 1
        assert gate(engine).inflight == 0
    holder = Slot(scripts, "holder")
    holder.need()
    for slot, claimed in zombies:
        assert slot.settle(claimed).outcome == "stale"
        assert Slot(scripts, f"{slot.name}-next").claim() is None
        assert gate(engine).inflight == 1
    holder.settle()
    assert gate(engine).inflight == 0


def _settle(slot: Slot, engine: Engine) -> None:
    slot.settle()


def _retry(slot: Slot, engine: Engine) -> None:
    slot.settle(outcome=Outcome.failed("error", delay_ms=60_000))


def _die(slot: Slot, engine: Engine) -> None:
    slot.settle(outcome=Outcome.failed("poison"))


def _abandon(slot: Slot, engine: Engine) -> None:
    engine.scripts.abandon(slot.name)


def _rescue(slot: Slot, engine: Engine) -> None:
    expire(engine, "held")
    engine.scripts.rescue(gap_ms=2**40)


def _postpone(slot: Slot, engine: Engine) -> None:
    slot.settle(outcome=Outcome.postponed(60_000, "Busy"))


def _lose_the_lease(slot: Slot, engine: Engine) -> None:
    engine.redis.delete(engine.keys.lease("held"))
    engine.redis.zrem(engine.keys.leases(), "held")
    engine.scripts.reconcile("beta.bulk")


def _mend(slot: Slot, engine: Engine) -> None:
    engine.redis.hset("rq:job:held", mapping={"status": "finished", "jo_outcome": "succeeded"})
    engine.redis.expire("rq:job:held", 60)
    assert engine.scripts.mend("held", False)


ENDS = [_settle, _retry, _die, _abandon, _rescue, _postpone, _lose_the_lease, _mend]


@pytest.mark.parametrize("end", ENDS)
def test_however_a_lease_ends_its_place_is_offered_to_the_next(
    engine: Engine, scripts: Scripts, end: Callable[[Slot, Engine], None]
) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("held", "beta", resource="stripe"))
    slot = Slot(scripts)
    slot.need()
    scripts.enqueue(job("next", resource="stripe"))
    assert Slot(scripts, "other").claim() is None
    end(slot, engine)
    assert gate(engine).inflight == 0
    assert queued(engine) == ["next"]
    assert Slot(scripts, "third", lanes=["bulk"]).claim() is not None
    invariants.check(engine)


def test_a_renewed_lease_keeps_its_place(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.set_limit("type:t.work", 5, None)
    scripts.enqueue(job("a", resource="stripe", lease_ms=10_000))
    claimed = Slot(scripts).need()
    for key in (engine.keys.leases(), engine.keys.inflight("acme"), engine.keys.inflight_resource("stripe")):
        engine.redis.zadd(key, {"a": 1})
    assert scripts.renew([("a", claimed.token)]) == [True]
    scores = {
        engine.redis.zscore(key, "a")
        for key in (engine.keys.leases(), *map(engine.keys.inflight_resource, ("stripe", "type:t.work")))
    }
    assert len(scores) == 1
    assert scores.pop() > scripts.now_ms()


def test_a_place_that_no_lease_speaks_for_is_given_up_by_reconcile(engine: Engine, scripts: Scripts) -> None:
    """As of a job whose record and lease were both lost."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("next", resource="stripe"))
    engine.redis.zadd(engine.keys.inflight_resource("stripe"), {"gone": scripts.now_ms() - 1000})
    assert Slot(scripts).claim() is None
    scripts.reconcile("acme.bulk")
    assert Slot(scripts, "other").need().id == "next"


def test_a_cancelled_one_that_was_offered_the_place_passes_it_on(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(name, resource="stripe") for name in ("held", "next", "last")])
    slot = Slot(scripts)
    slot.need()
    assert Slot(scripts, "other").claim() is None
    slot.settle()
    assert queued(engine) == ["next"]
    assert scripts.cancel("next") == "cancelled"
    assert queued(engine) == ["last"]


def test_a_failed_job_gives_its_place_to_the_next_and_waits_behind_it(engine: Engine, scripts: Scripts) -> None:
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job("held", resource="stripe"), job("next", resource="stripe")])
    slot = Slot(scripts)
    slot.need()
    assert Slot(scripts, "other").claim() is None
    slot.settle(outcome=BOOM)
    assert (queued(engine), status(engine, "held")) == (["next"], "scheduled")


def _is_cancelled_by_rq(engine: Engine) -> None:
    engine.redis.hset("rq:job:next", "status", "canceled")
    engine.redis.expire("rq:job:next", 60)


def _has_spent_its_attempts(engine: Engine) -> None:
    engine.redis.hset("rq:job:next", "jo_attempt", 5)


def _is_a_former_customers(engine: Engine) -> None:
    engine.redis.hset("rq:job:next", "jo_tenant_uid", "6")
    engine.scripts.set_policy(Policy("acme", cap=None, uid="7", version=1))


def _meets_another_closed_gate(engine: Engine) -> None:
    engine.scripts.pause_gate("type:t.next")


@pytest.mark.parametrize(
    "bar", [_is_cancelled_by_rq, _has_spent_its_attempts, _is_a_former_customers, _meets_another_closed_gate]
)
def test_one_that_was_offered_the_place_and_does_not_start_passes_it_on_at_once(
    engine: Engine, bar: Callable[[Engine], None]
) -> None:
    """On a clock that stands: nothing is left to the look at the gate a second later."""
    scripts = virtual(engine).scripts
    for slug in ("acme", "beta"):
        scripts.set_policy(Policy(slug, cap=None))
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("held", "beta", resource="stripe"))
    slot = Slot(scripts)
    slot.need()
    scripts.enqueue_many([job("next", job_type="t.next", resource="stripe"), job("last", "beta", resource="stripe")])
    assert Slot(scripts, "other").claim() is None
    slot.settle()
    assert (queued(engine), queued(engine, "beta.bulk")) == (["next"], [])
    bar(engine)
    assert slot.need().id == "last"
    assert status(engine, "next") != "queued"
