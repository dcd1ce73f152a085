"""Whatever asks after jobs, or puts them right, knows those that wait at gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy, Whereabouts
from jobops.engine.scripts import Scripts
from tests.engine import invariants
from tests.engine.helpers import Slot, job, queued, status


@pytest.fixture
def waiting(engine: Engine, scripts: Scripts) -> Engine:
    """Jobs a, b and c of acme wait at a gate; its only place is held by one of beta's."""
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue(job("holder", "beta", resource="stripe"))
    Slot(scripts, "holder").need()
    scripts.enqueue_many([job(name, resource="stripe", key=name, replay_of="x:1") for name in "abc"])
    assert Slot(scripts, "idle").claim() is None
    return engine


def in_room(engine: Engine, name: str = "b") -> list[bool]:
    """Whether it stands in the gate's waiting, in its queue's held, and in its line."""
    keys = (engine.keys.waiting("stripe"), engine.keys.held("acme", "bulk"), engine.keys.line("acme.bulk", "stripe"))
    return [engine.redis.zscore(key, name) is not None for key in keys]


def test_it_is_alive_and_holds_its_key(waiting: Engine) -> None:
    assert waiting.scripts.fates(["b"])["b"].state == "alive"
    assert waiting.scripts.key_holders([("acme", "t.work", "b")]) == ["b"]


def test_it_is_cancelled_like_any_that_waits(waiting: Engine) -> None:
    """By id, by key, and only by its own tenant; the last one takes all traces with it."""
    scripts = waiting.scripts
    assert scripts.cancel("b", "beta") == "not_found"
    assert scripts.cancel("b", "acme") == "cancelled"
    assert scripts.cancel_key("acme", "t.work", "a") == ("cancelled", "a")
    assert in_room(waiting) == [False] * 3
    assert [told.outcome for told in scripts.outcome_batch()] == ["cancelled"] * 2
    invariants.check(waiting)
    assert scripts.cancel("c") == "cancelled"
    assert waiting.redis.keys("*:line*:acme*") == waiting.redis.keys("*:turn*") == []
    assert waiting.redis.hget(waiting.keys.tenant("acme"), "held") is None
    assert waiting.redis.zscore(waiting.keys.active("bulk"), "acme") is None


def test_promotion_and_rescue_leave_it_alone(waiting: Engine) -> None:
    waiting.redis.zadd("rq:scheduler:scheduled_jobs", {"b": 1})
    assert waiting.scripts.promote().moved == 0
    waiting.scripts.rescue(gap_ms=2**40)
    assert (status(waiting, "b"), in_room(waiting)) == ("rate_limited", [True] * 3)


def test_its_whereabouts_are_told(waiting: Engine) -> None:
    nowhere = Whereabouts("b", "rate_limited", "acme", "bulk", (), 0, False, False, False, (), False, False)
    (found,) = waiting.scripts.whereabouts(["b"])
    assert found == replace(nowhere, waiting=("stripe",), held=True, waits="stripe")


def test_a_deleted_tenants_waiters_wait_and_die_when_the_slug_is_given_anew(waiting: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", uid="1", version=1))
    scripts.enqueue(job("d", resource="stripe"))
    assert Slot(scripts, "idle2").claim() is None
    scripts.drop_policy("acme")
    scripts.abandon("holder")
    assert status(waiting, "d") == "rate_limited"
    for name in "abc":  # these are from before the tenant had an identity
        scripts.cancel(name)
    scripts.set_policy(Policy("acme", uid="2", version=1))
    scripts.cancel("holder")
    assert Slot(scripts, "third").claim() is None
    assert [death.job_id for death in scripts.dead_batch()] == ["d"]


def _out_of_waiting(engine: Engine) -> None:
    engine.redis.zrem(engine.keys.waiting("stripe"), "b")


def _out_of_held(engine: Engine) -> None:
    engine.redis.zrem(engine.keys.held("acme", "bulk"), "b")


def _out_of_line(engine: Engine) -> None:
    engine.redis.zrem(engine.keys.line("acme.bulk", "stripe"), "b")


def _out_of_all(engine: Engine) -> None:
    _out_of_waiting(engine)
    _out_of_held(engine)
    _out_of_line(engine)


def _twice_in_its_queue(engine: Engine) -> None:
    engine.redis.rpush("rq:queue:acme.bulk", "b", "b")


def _among_the_delayed(engine: Engine) -> None:
    engine.redis.zadd("rq:scheduler:scheduled_jobs", {"b": 1})


def _at_another_gate(engine: Engine) -> None:
    engine.redis.zadd(engine.keys.waiting("type:t.work"), {"b": 1})


def _with_a_lease(engine: Engine) -> None:
    engine.redis.zadd(engine.keys.leases(), {"b": 1})
    engine.redis.zadd(engine.keys.inflight("acme"), {"b": 1})


HARMS = [
    _out_of_waiting, _out_of_held, _out_of_line, _out_of_all, _twice_in_its_queue, _among_the_delayed,
    _at_another_gate, _with_a_lease,
]  # fmt: skip


@pytest.mark.parametrize("harm", HARMS)
def test_mend_puts_it_where_it_belongs_and_nowhere_else(waiting: Engine, harm: Callable[[Engine], None]) -> None:
    """It keeps its place in the order."""
    harm(waiting)
    assert waiting.scripts.mend("b", False)
    invariants.check(waiting)
    assert waiting.redis.zrange(waiting.keys.line("acme.bulk", "stripe"), 0, -1) == [b"a", b"b", b"c"]
    assert waiting.scripts.mend("b", False) == ""


OTHERS: list[dict[str, Any]] = [
    {"status": "queued"},
    {"status": "scheduled", "jo_due": 9_999_999_999_999},
    {"status": "finished", "jo_outcome": "succeeded"},
    {"status": "canceled"},
    {"status": "stopped"},
]


@pytest.mark.parametrize("fields", OTHERS, ids=lambda fields: str(fields["status"]))
def test_mend_takes_one_out_of_the_room_that_does_not_wait(
    waiting: Engine, scripts: Scripts, fields: dict[str, Any]
) -> None:
    waiting.redis.hset("rq:job:b", mapping=fields)
    if fields["status"] not in ("queued", "scheduled"):
        waiting.redis.expire("rq:job:b", 60)
        waiting.redis.delete(waiting.keys.unique("acme", "t.work", "b"))
    assert scripts.mend("b", False)
    assert in_room(waiting) == [False] * 3
    invariants.check(waiting)


def test_mend_sends_one_that_waits_for_nobody_knows_what_back_to_its_queue(waiting: Engine) -> None:
    waiting.redis.hset("rq:job:b", "jo_waits", "")
    assert waiting.scripts.mend("b", False)
    assert (queued(waiting), in_room(waiting)) == (["b"], [False] * 3)
    invariants.check(waiting)


def _stranger_in_held(engine: Engine) -> None:
    engine.redis.zadd(engine.keys.held("acme", "bulk"), {"stranger": 1})


def _stranger_in_line(engine: Engine) -> None:
    for key in (engine.keys.line("acme.bulk", "stripe"), engine.keys.waiting("stripe")):
        engine.redis.zadd(key, {"stranger": 1})


def _without_turns(engine: Engine) -> None:
    engine.redis.delete(engine.keys.turns("stripe"))


def _without_hints(engine: Engine) -> None:
    engine.redis.hdel(engine.keys.tenant("acme"), "held")
    engine.redis.srem(engine.keys.gates(), "stripe")
    engine.scripts.drop_limit("stripe")  # a gate that is unknown is parked
    engine.redis.srem(engine.keys.gates(), "stripe")
    engine.redis.hset(engine.keys.cell(), "parked", "")


def _out_of_lines(engine: Engine) -> None:
    engine.redis.delete(engine.keys.lines("acme.bulk"))


def _out_of_active(engine: Engine) -> None:
    engine.redis.zrem(engine.keys.active("bulk"), "acme")


DISORDERS = [
    _out_of_waiting, _out_of_held, _out_of_line, _stranger_in_held, _stranger_in_line, _without_turns, _without_hints,
    _out_of_lines, _out_of_active,
]  # fmt: skip


@pytest.mark.parametrize("disorder", DISORDERS)
def test_reconcile_repairs_a_queues_waiting_rooms(waiting: Engine, disorder: Callable[[Engine], None]) -> None:
    disorder(waiting)
    assert invariants.violations(waiting), "there is nothing to repair"
    waiting.scripts.reconcile("acme.bulk")
    invariants.check(waiting)
    waiting.scripts.set_limit("stripe", 9, None)
    order = [Slot(waiting.scripts, f"s{n}").need().id for n in range(3)]
    assert order == ["a", "b", "c"]


def test_a_waiter_whose_record_vanished_is_passed_over(waiting: Engine) -> None:
    """Evicted, or deleted by an outsider: the place goes to the next, and nothing is made of the id."""
    waiting.redis.delete("rq:job:a")
    waiting.scripts.abandon("holder")
    assert (queued(waiting), waiting.redis.exists("rq:job:a")) == (["b"], 0)
    waiting.redis.delete(waiting.keys.unique("acme", "t.work", "a"))
