"""Cancel: in each state, by id and by key, of one's own and of another tenant."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job, make_due, queued, status


def test_a_waiting_job_leaves_its_queue(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a"), job("b"), job("c")])
    assert scripts.cancel("b", ttl_s=300) == "cancelled"
    assert queued(engine) == ["a", "c"]
    view = read_job(engine, "b")
    assert view is not None
    assert view.state == "cancelled"
    assert view.ended_at is not None
    assert 295 <= engine.redis.ttl("rq:job:b") <= 300


def test_the_last_waiting_job_takes_its_tenant_out_of_the_ring(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.cancel("a")
    assert engine.redis.zcard(engine.keys.ring("bulk")) == 0
    assert engine.redis.zcard(engine.keys.active("bulk")) == 0
    assert Slot(scripts).claim() is None


def test_a_delayed_job_never_comes_due(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", delay_ms=60_000))
    assert scripts.cancel("a") == "cancelled"
    assert engine.redis.zcard(RQ_SCHEDULED) == 0
    assert status(engine, "a") == "canceled"


def test_a_job_between_two_attempts_is_cancelled(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    Slot(scripts).run(Outcome.failed("error", delay_ms=60_000))
    assert scripts.cancel("a") == "cancelled"
    assert engine.redis.zcard(RQ_SCHEDULED) == 0
    assert scripts.dead_batch() == []


def test_a_running_job_is_not_cancelled(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts)
    slot.need()
    before = dump(engine.redis)
    assert scripts.cancel("a") == "started"
    assert dump(engine.redis) == before
    assert slot.settle().outcome == "succeeded"


@pytest.mark.parametrize("outcome", [Outcome.succeeded(), Outcome.discarded(), BOOM], ids=lambda o: o.kind)
def test_a_job_that_has_ended_stays_ended(engine: Engine, scripts: Scripts, outcome: Outcome) -> None:
    scripts.enqueue(job("a", max_attempts=1))
    Slot(scripts).run(outcome)
    before = dump(engine.redis)
    assert scripts.cancel("a") == "ended"
    assert dump(engine.redis) == before


def test_cancelling_twice_is_answered_as_ended(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.cancel("a")
    before = dump(engine.redis)
    assert scripts.cancel("a") == "ended"
    assert dump(engine.redis) == before


def test_another_tenants_job_is_not_found_and_not_touched(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    before = dump(engine.redis)
    assert scripts.cancel("a", "beta") == "not_found"
    assert scripts.cancel("missing", "beta") == "not_found"
    assert scripts.cancel("missing") == "not_found"
    assert dump(engine.redis) == before
    assert scripts.cancel("a", "acme") == "cancelled"


def test_a_job_that_is_not_ours_is_not_found(engine: Engine, scripts: Scripts) -> None:
    engine.redis.hset("rq:job:foreign", mapping={"status": "queued", "origin": "default"})
    before = dump(engine.redis)
    assert scripts.cancel("foreign") == "not_found"
    assert dump(engine.redis) == before
    engine.redis.delete("rq:job:foreign")


def test_by_key_the_live_job_is_found(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", key="k"), job("b", key="k", tenant="beta"), job("c", key="k2")])
    assert scripts.cancel_key("acme", "t.work", "k") == ("cancelled", "a")
    assert (status(engine, "a"), status(engine, "b"), status(engine, "c")) == ("canceled", "queued", "queued")


def test_by_key_a_running_job_is_named_and_left_alone(scripts: Scripts) -> None:
    scripts.enqueue(job("a", key="k"))
    Slot(scripts).need()
    assert scripts.cancel_key("acme", "t.work", "k") == ("started", "a")


def test_by_key_what_has_ended_or_never_was_is_not_found(scripts: Scripts) -> None:
    scripts.enqueue(job("a", key="k"))
    scripts.cancel("a")
    for tenant, job_type, key in [
        ("acme", "t.work", "k"),
        ("acme", "t.work", "never"),
        ("acme", "t.none", "k"),
        ("beta", "t.work", "k"),
    ]:
        assert scripts.cancel_key(tenant, job_type, key) == ("not_found", "")


def test_a_cancelled_id_that_is_enqueued_again_is_listed_nowhere_twice(engine: Engine, scripts: Scripts) -> None:
    """Trap 13, with the mark of its first push there and gone, its record there and gone."""
    scripts.enqueue_many([job("a"), job("b")])
    scripts.cancel("a")
    assert scripts.enqueue(job("a")).state == "duplicate"
    engine.redis.delete(engine.keys.pushed("a"))
    assert scripts.enqueue(job("a")).state == "duplicate"
    assert queued(engine) == ["b"]
    engine.redis.delete(engine.keys.pushed("a"), "rq:job:a")
    assert scripts.enqueue(job("a")).state == "queued"
    assert scripts.enqueue(job("a")).state == "duplicate"
    assert queued(engine) == ["b", "a"]
    slot = Slot(scripts)
    assert [slot.need().id, slot.need().id, slot.claim()] == ["b", "a", None]
    assert engine.redis.ttl("rq:job:a") == -1


def test_a_job_that_comes_due_while_it_is_cancelled_is_in_one_place(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", delay_ms=60_000))
    make_due(engine, "a")
    scripts.promote()
    assert scripts.cancel("a") == "cancelled"
    assert (scripts.promote().moved, queued(engine)) == (0, [])


def test_cancelling_is_counted(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    scripts.cancel("a")
    minute = scripts.now_ms() // 60_000
    counts = [engine.redis.hget(engine.keys.minute(m, "tenant"), "acme|cancelled") for m in (minute - 1, minute)]
    assert b"1" in counts
