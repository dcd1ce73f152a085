"""Whereabouts: everywhere that a job's id stands, at one instant, without changing anything."""

from __future__ import annotations

from dataclasses import replace

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Whereabouts
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job

NOWHERE = Whereabouts("?", "", "", "", (), 0, False, False, False, (), False, False)


def where(scripts: Scripts, job_id: str, *queues: str) -> Whereabouts:
    (found,) = scripts.whereabouts([job_id], queues)
    return found


def ours(job_id: str, status: str, **fields: object) -> Whereabouts:
    return replace(NOWHERE, id=job_id, status=status, tenant="acme", lane="bulk", **fields)  # type: ignore[arg-type]


def test_each_state_has_its_one_place(engine: Engine, scripts: Scripts) -> None:
    names = ["done", "off", "died", "runs", "waits", "later"]
    scripts.enqueue_many([job(name, delay_ms=90_000 if name == "later" else 0) for name in names])
    scripts.cancel("off")
    slot = Slot(scripts)
    slot.run()
    slot.run(Outcome.failed("poison"))
    slot.need()
    before = dump(engine.redis)
    assert scripts.whereabouts([*names, "never"]) == [
        ours("done", "finished"),
        ours("off", "canceled"),
        ours("died", "failed", dead=("died:1",)),
        ours("runs", "started", lease=True, lease_hash=True, inflight=True, wip=True),
        ours("waits", "queued", in_queues=("acme.bulk",), queue_count=1),
        ours("later", "scheduled", delayed=True),
        replace(NOWHERE, id="never"),
    ]
    assert dump(engine.redis) == before


def test_every_place_too_many_is_seen(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    slot = Slot(scripts)
    slot.need()
    engine.redis.rpush("rq:queue:acme.bulk", "a", "a")
    engine.redis.rpush("rq:queue:beta.bulk", "a")
    engine.redis.zadd(RQ_SCHEDULED, {"a": 1})
    engine.redis.zadd(engine.keys.dead(), {"a:0": 1, "a:1": 1})
    assert where(scripts, "a").in_queues == ("acme.bulk",)
    found = where(scripts, "a", "beta.bulk", "nobody.bulk", "acme.bulk")
    assert (found.in_queues, found.queue_count) == (("acme.bulk", "beta.bulk"), 3)
    assert found.lease
    assert found.delayed
    assert found.dead == ("a:0", "a:1")
    engine.redis.delete("rq:queue:acme.bulk", "rq:queue:beta.bulk", RQ_SCHEDULED, engine.keys.dead())


def test_half_a_lease_is_seen_as_the_half_it_is(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    one, two = Slot(scripts, "s1"), Slot(scripts, "s2", worker="w2")
    one.need()
    two.need()
    engine.redis.zrem(engine.keys.leases(), "a")
    engine.redis.delete(engine.keys.lease("b"))
    assert [(w.lease, w.lease_hash, w.wip) for w in scripts.whereabouts(["a", "b"])] == [
        (False, True, True),
        (True, False, True),
    ]
    scripts.reconcile("acme.bulk")


def test_a_job_whose_record_vanished_is_found_by_its_lease_or_where_it_is_looked_for(
    engine: Engine, scripts: Scripts
) -> None:
    scripts.enqueue_many([job("runs"), job("waits")])
    slot = Slot(scripts)
    slot.need()
    engine.redis.delete("rq:job:runs", "rq:job:waits")
    runs = where(scripts, "runs")
    assert (runs.status, runs.tenant, runs.lane, runs.lease, runs.inflight, runs.wip) == (
        "", "acme", "bulk", True, True, True,
    )  # fmt: skip
    assert where(scripts, "waits").queue_count == 0
    assert where(scripts, "waits", "acme.bulk").queue_count == 1
    slot.settle()
    assert slot.claim() is None


def test_records_and_queues_of_any_form_are_answered(engine: Engine, scripts: Scripts) -> None:
    engine.redis.set("rq:job:text", "a string")
    engine.redis.hset("rq:job:odd", mapping={"status": b"\xff", "jo_attempt": "many", "origin": "no-dot"})
    engine.redis.set("rq:queue:acme.bulk", "a string")
    text, odd = scripts.whereabouts(["text", "odd"], ["acme.bulk"])
    assert text == replace(NOWHERE, id="text")
    assert odd == replace(NOWHERE, id="odd", status="\\xff")
    engine.redis.delete("rq:job:text", "rq:job:odd", "rq:queue:acme.bulk")


def test_a_death_in_each_attempt_kept_is_seen(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    Slot(scripts).run(BOOM)
    engine.redis.hset("rq:job:a", "jo_attempt", 200)
    engine.redis.zadd(engine.keys.dead(), {"a:149": 1, "a:150": 1, "a:200": 1, "a:201": 1})
    assert where(scripts, "a").dead == ("a:150", "a:200")
    engine.redis.hset("rq:job:a", "jo_attempt", 1)


def test_any_number_is_asked_for(scripts: Scripts) -> None:
    names = [f"j{n}" for n in range(333)]
    scripts.enqueue_many([job(name) for name in names])
    found = scripts.whereabouts(names)
    assert [w.id for w in found] == names
    assert {w.queue_count for w in found} == {1}
    assert scripts.whereabouts([]) == []
