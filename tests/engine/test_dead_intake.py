"""The dead intake: a death waits there until it was taken into the database, whoever reads it and how often."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import DATA, Slot, dump, job, status

POISON = Outcome.failed("poison", "BadInput", "bad", "tb")


def kill(scripts: Scripts, count: int, prefix: str = "d") -> list[str]:
    """That many deaths, oldest first."""
    scripts.enqueue_many([job(f"{prefix}{n}") for n in range(count)])
    slot = Slot(scripts, f"killer-{prefix}")
    return [slot.need().id for _ in range(count) if slot.held is None or slot.settle(outcome=POISON)] + (
        [] if slot.settle(outcome=POISON).outcome == "dead" else ["?"]
    )


def test_a_death_carries_all_that_its_letter_needs(scripts: Scripts) -> None:
    scripts.enqueue(job("a", key="k", correlation_id="c"))
    before = scripts.now_ms()
    Slot(scripts, worker="w9").run(POISON)
    (death,) = scripts.dead_batch()
    assert (death.member, death.job_id, death.attempt) == ("a:1", "a", 1)
    assert before <= death.died_at_ms <= scripts.now_ms()
    fields = death.fields
    assert fields[b"jo_tenant"] == b"acme"
    assert fields[b"jo_lane"] == b"bulk"
    assert fields[b"data"] == DATA
    assert (fields[b"jo_type"], fields[b"jo_reason"]) == (b"t.work", b"poison")
    assert (fields[b"jo_error_class"], fields[b"jo_error"], fields[b"exc_info"]) == (b"BadInput", b"bad", b"tb")
    assert (fields[b"jo_key"], fields[b"jo_correlation"]) == (b"k", b"c")
    assert int(fields[b"jo_died"]) == death.died_at_ms


def test_reading_changes_nothing_and_is_bounded_oldest_first(engine: Engine, scripts: Scripts) -> None:
    ids = kill(scripts, 5)
    before = dump(engine.redis)
    assert [death.job_id for death in scripts.dead_batch(limit=2)] == ids[:2]
    assert [death.job_id for death in scripts.dead_batch()] == ids
    assert dump(engine.redis) == before


def test_exactly_the_named_deaths_are_removed(engine: Engine, scripts: Scripts) -> None:
    kill(scripts, 3)
    assert scripts.dead_ack(["d1:1"], ttl_s=700) == 1
    assert [death.member for death in scripts.dead_batch()] == ["d0:1", "d2:1"]
    assert 695 <= engine.redis.ttl("rq:job:d1") <= 700
    assert engine.redis.ttl("rq:job:d0") == -1
    expiry = engine.redis.zscore("rq:failed:acme.bulk", "d1")
    assert expiry * 1000 <= scripts.now_ms() + 700_000
    assert engine.redis.zscore("rq:failed:acme.bulk", "d0") == float("inf")


def test_two_readers_of_one_batch_remove_nothing_that_neither_stored(scripts: Scripts) -> None:
    """Trap 4: both read the same hundred; the second must not trim a hundred that nobody read."""
    kill(scripts, 3)
    one, two = scripts.dead_batch(limit=2), scripts.dead_batch(limit=2)
    assert one == two
    members = [death.member for death in one]
    assert scripts.dead_ack(members) == 2
    kill(scripts, 2, "later")
    assert scripts.dead_ack(members) == 0
    assert [death.job_id for death in scripts.dead_batch()] == ["d2", "later0", "later1"]


def test_removing_nothing_or_what_never_was_changes_nothing(engine: Engine, scripts: Scripts) -> None:
    kill(scripts, 1)
    before = dump(engine.redis)
    assert scripts.dead_ack([]) == 0
    assert scripts.dead_ack(["ghost:1", "no colon", "", "d0:2x"]) == 0
    after = dump(engine.redis)
    assert before.pop(b"jobops:dead") == after.pop(b"jobops:dead")


def test_a_death_whose_record_vanished_is_still_told(engine: Engine, scripts: Scripts) -> None:
    kill(scripts, 2)
    engine.redis.delete("rq:job:d0")
    first, second = scripts.dead_batch()
    assert (first.job_id, first.attempt, dict(first.fields)) == ("d0", 1, {})
    assert second.fields
    assert scripts.dead_ack(["d0:1"]) == 1


def test_a_member_that_an_outsider_wrote_is_told_and_can_be_removed(engine: Engine, scripts: Scripts) -> None:
    engine.redis.zadd(engine.keys.dead(), {b"\xff\x00odd": 1, "a:b:c": 2, "plain": 3, "x:٣": 4})
    deaths = scripts.dead_batch()
    assert [death.attempt for death in deaths] == [0, 0, 0, 0]
    assert [death.job_id for death in deaths[1:3]] == ["a:b", "plain"]
    assert scripts.dead_ack([death.member for death in deaths[1:]]) == 3
    engine.redis.delete(engine.keys.dead())


def test_a_job_that_was_put_back_meanwhile_keeps_its_record(engine: Engine, scripts: Scripts) -> None:
    kill(scripts, 1)
    engine.redis.hset("rq:job:d0", "status", "queued")
    engine.redis.rpush("rq:queue:acme.bulk", "d0")
    scripts.reconcile("acme.bulk")
    assert scripts.dead_ack(["d0:1"]) == 1
    assert engine.redis.ttl("rq:job:d0") == -1
    assert Slot(scripts, "s2").need().id == "d0"


def test_a_job_dies_again_under_another_name(engine: Engine, scripts: Scripts) -> None:
    kill(scripts, 1)
    scripts.dead_ack(["d0:1"])
    engine.redis.hset("rq:job:d0", "status", "queued")
    engine.redis.rpush("rq:queue:acme.bulk", "d0")
    scripts.reconcile("acme.bulk")
    Slot(scripts, "s2").run(POISON)
    assert [death.member for death in scripts.dead_batch()] == ["d0:2"]
    assert engine.redis.ttl("rq:job:d0") == -1
    assert status(engine, "d0") == "failed"
