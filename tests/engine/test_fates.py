"""Fates and key holders: what became of a job, whether that is still to be told, and who holds a key."""

from __future__ import annotations

from jobops.engine.client import Engine
from jobops.engine.records import Fate, Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job


def fate(scripts: Scripts, job_id: str = "r") -> Fate:
    return scripts.fates([job_id])[job_id]


def test_a_job_that_waits_is_delayed_or_runs_is_alive(scripts: Scripts) -> None:
    scripts.enqueue_many([job("r", replay_of="x:1"), job("later", delay_ms=60_000), job("next")])
    assert fate(scripts) == Fate("alive")
    assert fate(scripts, "later") == Fate("alive")
    slot = Slot(scripts)
    slot.need()
    assert fate(scripts) == Fate("alive", attempt=1)
    slot.settle(outcome=Outcome.failed("error", delay_ms=60_000))
    assert fate(scripts).state == "alive"


def test_a_running_job_whose_record_vanished_is_alive(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1"))
    slot = Slot(scripts)
    slot.need()
    engine.redis.delete("rq:job:r")
    assert fate(scripts).state == "alive"
    slot.settle()
    assert fate(scripts).state == "succeeded"


def test_an_end_is_pending_until_its_outcome_was_taken(scripts: Scripts) -> None:
    scripts.enqueue_many([job(name, replay_of="x:1") for name in ("r", "gone", "off")])
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.discarded("Gone", "no such row"))
    scripts.cancel("off")
    wanted = {
        "r": Fate("succeeded", 1, pending=True),
        "gone": Fate("discarded", 1, "Gone", "no such row", pending=True),
        "off": Fate("cancelled", 0, pending=True),
    }
    assert scripts.fates(list(wanted)) == wanted
    scripts.outcome_ack([told.member for told in scripts.outcome_batch()])
    assert [found.pending for found in scripts.fates(list(wanted)).values()] == [False] * 3
    assert fate(scripts).state == "succeeded"


def test_a_death_is_pending_until_it_was_taken_in(scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1", max_attempts=1))
    Slot(scripts).run(BOOM)
    assert fate(scripts) == Fate("dead", 1, "ValueError", "boom", pending=True)
    scripts.dead_ack(["r:1"])
    assert fate(scripts) == Fate("dead", 1, "ValueError", "boom")


def test_a_death_whose_record_vanished_is_still_to_be_told(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1", max_attempts=1))
    Slot(scripts).run(BOOM)
    engine.redis.delete("rq:job:r")
    assert (fate(scripts).state, fate(scripts).attempt, fate(scripts).pending) == ("dead", 1, True)
    scripts.dead_ack(["r:1"])
    assert fate(scripts) == Fate("missing")


def test_what_redis_never_had_or_lost_is_missing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1"))
    engine.redis.flushdb()
    assert scripts.fates(["r", "never"]) == {"r": Fate("missing"), "never": Fate("missing")}
    assert scripts.fates([]) == {}


def test_a_coalesced_job_is_missing_and_still_to_be_told(scripts: Scripts) -> None:
    scripts.enqueue_many([job("live", key="k"), job("r", key="k", replay_of="x:1")])
    assert fate(scripts) == Fate("missing", pending=True)
    scripts.outcome_ack([scripts.outcome_batch()[0].member])
    assert fate(scripts) == Fate("missing")


def test_an_outsiders_cancel_is_seen_although_it_told_nothing(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1"))
    engine.redis.delete("rq:queue:acme.bulk")
    engine.redis.hset("rq:job:r", "status", "canceled")
    engine.redis.expire("rq:job:r", 60)
    scripts.reconcile("acme.bulk")
    assert fate(scripts) == Fate("cancelled")


def test_a_later_outcome_of_one_id_is_pending_when_the_earlier_was_taken(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("r", replay_of="x:1"))
    scripts.cancel("r")
    (early,) = scripts.outcome_batch()
    engine.redis.delete("rq:job:r", engine.keys.pushed("r"))
    scripts.enqueue(job("r", replay_of="x:1"))
    Slot(scripts).run()
    scripts.outcome_ack([early.member])
    assert fate(scripts) == Fate("succeeded", 1, pending=True)


def test_records_of_any_form_are_answered_and_nothing_is_changed(engine: Engine, scripts: Scripts) -> None:
    engine.redis.set("rq:job:text", "a string")
    engine.redis.hset("rq:job:odd", mapping={"status": b"\xff", "jo_attempt": "many"})
    engine.redis.hset("rq:job:bytes", mapping={"status": "canceled", "jo_attempt": "-5", "jo_error": b"\xff" * 9_000})
    engine.redis.expire("rq:job:bytes", 60)
    before = dump(engine.redis)
    found = scripts.fates(["text", "odd", "bytes"])
    assert [found[name].state for name in found] == ["missing", "missing", "cancelled"]
    assert (found["bytes"].attempt, found["bytes"].error) == (0, "\ufffd" * 2_000)
    assert dump(engine.redis) == before
    engine.redis.delete("rq:job:text", "rq:job:odd")


def test_any_number_is_asked_for(scripts: Scripts) -> None:
    names = [f"j{n}" for n in range(1_234)]
    scripts.enqueue_many([job(name) for name in names])
    assert set(scripts.fates(names).values()) == {Fate("alive")}
    assert list(scripts.fates(names)) == names
    keys = [("acme", "t.work", str(n)) for n in range(1_234)]
    assert scripts.key_holders(keys) == [None] * 1_234


def test_a_key_is_held_by_a_live_job_of_its_tenant_and_type_alone(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", key="k"), job("b", key="k2", delay_ms=60_000), job("c", key="k", tenant="beta")])
    asked = [("acme", "t.work", "k"), ("acme", "t.work", "k2"), ("beta", "t.work", "k"), ("acme", "t.other", "k")]
    before = dump(engine.redis)
    assert scripts.key_holders(asked) == ["a", "b", "c", None]
    assert dump(engine.redis) == before
    slot = Slot(scripts)
    slot.need()
    assert scripts.key_holders(asked[:1]) == ["a"], "a running one holds it too"
    slot.settle()
    scripts.cancel("b")
    assert scripts.key_holders(asked) == [None, None, "c", None]
    assert scripts.key_holders([]) == []


def test_a_key_that_names_a_job_that_is_gone_is_free(engine: Engine, scripts: Scripts) -> None:
    engine.redis.set(engine.keys.unique("acme", "t.work", "k"), "vanished")
    assert scripts.key_holders([("acme", "t.work", "k")]) == [None]
