"""Batches in Redis: a member stands in one place, counts once, and a replay stands for the member that died."""

from __future__ import annotations

import pytest

from jobops.engine.batch_commands import BatchCounts
from jobops.engine.client import Engine
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, dump, expire, job, status
from tests.engine.virtual_time import VirtualScripts, virtual

POISON = Outcome.failed("poison", "ValueError", "no such row")
DISCARD = Outcome.discarded("Discard", "gone")


def counts(scripts: Scripts, batch: str = "b1") -> dict[str, int]:
    """What is not zero, and without the time of the change."""
    found = scripts.batch_state(batch)
    names = ("left", "dead", "dropped", "succeeded", "discarded", "cancelled", "coalesced", "lost")
    return {name: getattr(found, name) for name in names if getattr(found, name)}


def fill(scripts: Scripts, *ids: str, **fields: object) -> None:
    for answer in scripts.enqueue_many([job(id_, batch="b1", **fields) for id_ in ids]):
        assert not isinstance(answer, Exception)


def test_members_are_counted_by_how_they_end(scripts: Scripts) -> None:
    fill(scripts, "a", "b", "c", "d", "e")
    assert counts(scripts) == {"left": 5}
    slot = Slot(scripts)
    assert slot.run() == "succeeded"
    assert slot.run(DISCARD) == "discarded"
    assert slot.run(POISON) == "dead"
    assert scripts.cancel("d") == "cancelled"
    assert counts(scripts) == {"left": 1, "succeeded": 1, "discarded": 1, "dead": 1, "cancelled": 1}
    assert scripts.batch_state("b1").known == 5
    assert scripts.batch_state("nothing") == BatchCounts()


def test_a_second_push_of_a_member_and_a_retry_of_it_change_nothing(scripts: Scripts) -> None:
    fill(scripts, "a")
    assert scripts.enqueue(job("a", batch="b1")).state == "duplicate"
    slot = Slot(scripts)
    assert slot.run(Outcome.failed("error", "E", "once more")) == "retry"
    assert counts(scripts) == {"left": 1}


def test_an_ended_member_that_an_outsider_sends_back_counts_once(engine: Engine, scripts: Scripts) -> None:
    fill(scripts, "a", "b")
    slot = Slot(scripts, lanes=["bulk"])
    assert slot.run() == "succeeded"
    engine.redis.hset("rq:job:a", "status", "queued")  # as RQ's own requeue does
    engine.redis.lpush("rq:queue:acme.bulk", "a")
    scripts.reconcile("acme.bulk")
    assert slot.need().id == "a"
    slot.settle()
    assert counts(scripts) == {"left": 1, "succeeded": 1}


def test_a_member_whose_worker_is_lost_for_good_is_dead(engine: Engine, scripts: Scripts) -> None:
    fill(scripts, "a", max_attempts=1)
    Slot(scripts).need()
    scripts.rescue()
    expire(engine, "a")
    assert scripts.rescue().dead == 1
    assert counts(scripts) == {"dead": 1}


def test_a_coalesced_member_counts_at_once_and_once(scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k"))
    for _ in range(2):
        assert scripts.enqueue(job("a", key="k", batch="b1")).state == "coalesced"
    assert counts(scripts) == {"coalesced": 1}


def test_a_replay_stands_for_the_member_that_died_and_its_success_heals_it(scripts: Scripts) -> None:
    fill(scripts, "a")
    slot = Slot(scripts)
    slot.run(POISON)
    scripts.enqueue(job("a-1-r1", batch="b1", replay_of="a:1"))
    assert counts(scripts) == {"left": 1}
    slot.run(POISON)
    assert counts(scripts) == {"dead": 1}
    scripts.enqueue(job("a-1-r2", batch="b1", replay_of="a:1"))
    assert scripts.cancel("a-1-r2") == "cancelled"
    assert counts(scripts) == {"dead": 1}, "its letter opens again, so it is no cancelled member"
    scripts.enqueue(job("a-1-r3", batch="b1", replay_of="a:1"))
    slot.run()
    assert counts(scripts) == {"succeeded": 1}


def test_a_coalesced_replay_leaves_its_member_dead(scripts: Scripts) -> None:
    fill(scripts, "a", key="k")
    Slot(scripts).run(POISON)
    scripts.enqueue(job("other", key="k"))
    assert scripts.enqueue(job("a-1-r1", key="k", batch="b1", replay_of="a:1")).state == "coalesced"
    assert counts(scripts) == {"dead": 1}


def test_the_late_success_of_a_replay_that_was_given_up_counts(scripts: Scripts) -> None:
    fill(scripts, "a")
    slot = Slot(scripts)
    slot.run(POISON)
    scripts.enqueue(job("a-1-r1", batch="b1", replay_of="a:1"))
    held = slot.need()
    assert scripts.batch_tell("b1", "dead", ["a"]) == 1
    assert scripts.batch_tell("b1", "dropped", ["a"]) == 1
    slot.settle(held)
    assert counts(scripts) == {"succeeded": 1}


def test_what_is_told_of_a_member_counts_once(scripts: Scripts) -> None:
    fill(scripts, "a", "b", "c")
    for _ in range(2):
        scripts.batch_tell("b1", "succeeded", ["a"])
        scripts.batch_tell("b1", "lost", ["b", "nobody"])
        scripts.batch_tell("b1", "dropped", ["c", "nobody"])
    assert counts(scripts) == {"succeeded": 1, "lost": 1, "dropped": 1}
    assert scripts.batch_tell("b1", "dead", ["c", "a"]) == 1, "an undone discard makes it dead again"
    assert counts(scripts) == {"succeeded": 1, "lost": 1, "dead": 1}


def test_withdrawn_is_only_what_never_came(scripts: Scripts) -> None:
    fill(scripts, "a")
    assert scripts.batch_tell("b1", "withdrawn", ["a", "never", "never"]) == 1
    assert scripts.batch_tell("b1", "withdrawn", ["never"]) == 0
    assert counts(scripts) == {"left": 1, "cancelled": 1}


def test_a_change_stays_to_be_told_until_exactly_it_is_committed(engine: Engine, scripts: Scripts) -> None:
    fill(scripts, "a", "b")
    slot = Slot(scripts)
    slot.run()
    assert scripts.batches_changed() == ["b1"]
    seen = scripts.batch_state("b1").changed_us
    assert seen is not None
    engine.redis.zadd(engine.keys.batches(), {"b1": seen + 1})
    assert not scripts.batch_ack("b1", seen)
    assert scripts.batch_ack("b1", seen + 1)
    assert scripts.batches_changed() == []
    assert scripts.batch_state("b1").changed_us is None


def test_a_change_within_the_millisecond_of_the_one_that_was_read_stays_to_be_told(engine: Engine) -> None:
    scripts = virtual(engine).scripts
    assert isinstance(scripts, VirtualScripts)
    scripts.set_policy(Policy("acme", cap=None))
    fill(scripts, "a", "b")
    first, second = Slot(scripts, "first"), Slot(scripts, "second")
    first.need()
    second.need()
    scripts.set_clock(100.1)
    first.settle()
    seen = scripts.batch_state("b1")
    assert (seen.left, seen.changed_us is not None) == (1, True)
    scripts.set_clock(100.9)
    second.settle()
    assert not scripts.batch_ack("b1", seen.changed_us or 0)
    assert scripts.batches_changed() == ["b1"]


def test_what_is_no_batch_stands_in_nobodys_way(engine: Engine, scripts: Scripts) -> None:
    fill(scripts, "a")
    engine.redis.zadd(engine.keys.batches(), {b"\xff": 1, "x y": 2, "z" * 65: 3})
    assert scripts.batches_changed(4) == ["b1"]
    assert engine.redis.zcard(engine.keys.batches()) == 1


def test_a_forgotten_batch_leaves_nothing(engine: Engine, scripts: Scripts) -> None:
    before = set(dump(engine.redis))
    fill(scripts, "a", "b", "c")
    slot = Slot(scripts)
    slot.run(POISON)
    slot.run()
    scripts.batch_tell("b1", "withdrawn", ["x"])
    scripts.batch_tell("b1", "dropped", ["a"])
    assert scripts.batch_forget("b1") == 5
    assert [key for key in set(dump(engine.redis)) - before if b"batch" in key] == []


def test_waiting_members_are_cancelled_in_one_round_trip(engine: Engine, scripts: Scripts) -> None:
    fill(scripts, "a", "b", "c")
    held = Slot(scripts).need()
    cursor, members = scripts.batch_members("b1", "left")
    assert (cursor, sorted(members)) == (0, ["a", "b", "c"])
    assert scripts.cancel_many(members, "beta") == 0, "another tenant's"
    assert scripts.cancel_many([*members, "nobody"], "acme") == 2
    assert counts(scripts) == {"left": 1, "cancelled": 2}
    assert status(engine, held.id) == "started"


@pytest.mark.parametrize("what", ["left", "dead", "ended"])
def test_a_key_of_another_kind_keeps_no_job_from_coming_in_or_ending(engine: Engine, what: str) -> None:
    scripts = engine.scripts
    scripts.set_policy(Policy("acme"))
    engine.redis.set(engine.keys.batch("b1", what), "a string")
    fill(scripts, "a", "b")
    slot = Slot(scripts)
    assert slot.run() == "succeeded"
    assert slot.run(POISON) == "dead"
    assert [type(answer).__name__ for answer in scripts.batch_states(["b1", "b2"])][1] == "BatchCounts"
