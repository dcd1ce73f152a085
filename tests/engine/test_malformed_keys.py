"""Keys of another kind, and a Redis that is full: one bad key stops nobody, and what runs goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import NotTaken
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Outcome, Policy
from tests.engine.helpers import BOOM, Slot, expire, job


@pytest.fixture(autouse=True)
def acme(engine: Engine) -> None:
    engine.scripts.set_policy(Policy("acme"))


@pytest.fixture
def full(engine: Engine) -> Iterator[None]:
    """The next test body switches it on; Redis is empty again afterwards."""
    yield
    engine.redis.config_set("maxmemory", "0")


def test_one_malformed_delayed_job_stops_no_other(engine: Engine) -> None:
    engine.redis.set("rq:job:zz", "a string")
    engine.redis.zadd(RQ_SCHEDULED, {"zz": 1})
    engine.scripts.enqueue(job("a", delay_ms=1))
    engine.redis.zadd(RQ_SCHEDULED, {"a": 2})
    assert engine.scripts.promote().moved == 1
    assert engine.redis.zcard(RQ_SCHEDULED) == 0


@pytest.mark.leaves_broken
def test_one_malformed_lease_stops_no_other(engine: Engine) -> None:
    engine.redis.set(engine.keys.lease("zz"), "a string")
    engine.redis.zadd(engine.keys.leases(), {"zz": 1})
    engine.redis.set("rq:job:yy", "a string")
    engine.scripts.enqueue_many([job("a"), job("b")])
    for name in ("s1", "s2"):
        Slot(engine.scripts, name).need()
    for job_id in ("a", "b"):
        expire(engine, job_id)
    engine.redis.delete("rq:job:b")
    engine.redis.set("rq:job:b", "a string")
    assert engine.scripts.rescue().moved == 1
    assert engine.redis.zcard(engine.keys.leases()) == 0
    assert engine.redis.zcard(engine.keys.inflight("acme")) == 0, "no slot of its cap is lost for good"


@pytest.mark.leaves_broken
def test_one_malformed_record_in_a_queue_stops_no_other(engine: Engine) -> None:
    engine.scripts.enqueue_many([job("a"), job("zz"), job("b")])
    engine.redis.delete("rq:job:zz")
    engine.redis.set("rq:job:zz", "a string")
    slot = Slot(engine.scripts)
    assert slot.need().id == "a"
    assert slot.settle(claim=True).outcome == "succeeded"
    assert slot.held is not None
    assert slot.held.id == "b"


@pytest.mark.leaves_broken
def test_a_job_that_redis_cannot_take_hides_nothing_and_can_be_taken_later(engine: Engine) -> None:
    scripts = engine.scripts
    engine.redis.set("rq:queue:acme.bulk", "a string")
    answers = scripts.enqueue_many([job("a", lane="interactive"), job("bad"), job("c", lane="interactive")])
    assert [type(answer).__name__ for answer in answers] == ["Enqueued", "NotTaken", "Enqueued"]
    with pytest.raises(NotTaken, match=r"cannot take a job into acme\.bulk"):
        scripts.enqueue(job("bad"))
    engine.redis.delete("rq:queue:acme.bulk")
    assert scripts.enqueue(job("bad")).state == "queued", "the refusals left no mark that it was pushed"
    assert engine.redis.lrange("rq:queue:acme.interactive", 0, -1) == [b"a", b"c"]


def test_a_restart_of_redis_between_two_batches_takes_all_jobs_in_once(engine: Engine) -> None:
    engine.scripts.enqueue_many([job("a")])
    engine.redis.script_flush()
    assert [answer.state for answer in engine.scripts.enqueue_many([job("b"), job("c")])] == ["queued", "queued"]  # type: ignore[union-attr]
    assert engine.redis.lrange("rq:queue:acme.bulk", 0, -1) == [b"a", b"b", b"c"]


def test_in_a_full_redis_leases_are_renewed_and_ended_and_only_new_jobs_are_refused(engine: Engine, full: None) -> None:
    """RD-01 in the small: what ends work must not need the memory that ending it frees."""
    scripts = engine.scripts
    scripts.enqueue_many([job(f"j{n}") for n in range(5)])
    slots = [Slot(scripts, f"s{n}", worker=f"w{n}") for n in range(4)]
    for slot in slots:
        slot.need()
    scripts.load()
    expire(engine, "j2")
    engine.redis.config_set("maxmemory", "1")
    held = [slot.held for slot in slots]
    assert held[0] is not None
    assert held[3] is not None
    assert scripts.renew([(held[0].id, held[0].token)]) == [True]
    assert scripts.abandon("s1") == "retry"
    assert scripts.rescue().moved == 1
    assert slots[3].settle(outcome=Outcome.succeeded()).outcome == "succeeded"
    assert slots[0].settle(outcome=BOOM, claim=True).outcome == "retry"
    assert scripts.promote(limit=10).moved in (0, 1)
    with pytest.raises(Exception, match=r"OOM|maxmemory"):
        scripts.enqueue(job("more"))
