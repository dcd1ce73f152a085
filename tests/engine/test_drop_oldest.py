"""At the depth limit a waiting job gives way to a newer one of its key, if the type says so (``drop_oldest``)."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded, InvalidJob
from jobops.engine.jobs import read_job
from jobops.engine.keys import RQ_SCHEDULED
from jobops.engine.records import Enqueued, NewJob, Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.full_tenants import at_a_gate, limit, refused
from tests.engine.helpers import Slot, dump, job, make_due, queued, status


def drop(job_id: str = "new", key: str = "k", **fields: object) -> NewJob:
    return job(job_id, key=key, on_full="drop_oldest", **fields)


def test_below_the_limit_keys_coalesce_as_ever(engine: Engine, scripts: Scripts) -> None:
    for depth in (None, 2):
        limit(scripts, depth)
        scripts.enqueue(drop("old"))
        assert scripts.enqueue(drop(f"new{depth}")) == Enqueued("old", "coalesced")
    assert queued(engine) == ["old"]


def _waits(engine: Engine) -> None:
    engine.scripts.enqueue_many([job("x"), drop("old"), job("y")])


def _is_delayed(engine: Engine) -> None:
    engine.scripts.enqueue_many([drop("old", delay_ms=60_000), job("x"), job("y"), job("z")])


def _is_retried(engine: Engine) -> None:
    engine.scripts.enqueue(drop("old"))
    Slot(engine.scripts).run(Outcome.failed("error", delay_ms=60_000))
    engine.scripts.enqueue_many([job("x"), job("y"), job("z")])


def _is_at_a_gate(engine: Engine) -> None:
    engine.scripts.enqueue_many([drop("old", resource="stripe"), job("x"), job("y")])
    at_a_gate(engine, "old")


NOW = [{}, {"front": True}, {"lane": "interactive"}]
DELAYED = {"delay_ms": 60_000}


@pytest.mark.parametrize(
    ("place", "way"),
    [
        *itertools.product([_waits, _is_at_a_gate], [*NOW, DELAYED]),
        *itertools.product([_is_delayed, _is_retried], [DELAYED]),
    ],
)
def test_at_the_limit_the_waiting_job_of_the_key_gives_way(
    engine: Engine, scripts: Scripts, place: Callable[[Engine], None], way: dict[str, object]
) -> None:
    limit(scripts, 3)
    place(engine)
    assert scripts.enqueue(drop(**way)) == Enqueued("new", "scheduled" if "delay_ms" in way else "queued")
    assert "old" not in queued(engine)
    assert engine.redis.zscore(RQ_SCHEDULED, "old") is None
    assert not engine.redis.exists("jobops:waiting:stripe", "jobops:held:acme.bulk")
    view = read_job(engine, "old")
    assert view is not None
    assert (view.state, view.error_class) == ("cancelled", "Dropped")
    assert view.error == "job new of the same key took its place at the depth limit"
    assert 0 < engine.redis.ttl("rq:job:old") <= 86_400
    assert scripts.enqueue(job("third", key="k")) == Enqueued("new", "coalesced")
    assert scripts.enqueue(drop("old")) == Enqueued("old", "duplicate")
    assert engine.redis.hget(engine.keys.minute(scripts.now_ms() // 60_000, "tenant"), "acme|cancelled") == b"1"


@pytest.mark.parametrize("place", [_is_delayed, _is_retried])
@pytest.mark.parametrize("way", NOW)
def test_one_that_is_delayed_makes_no_room_for_one_that_is_not(
    engine: Engine, scripts: Scripts, place: Callable[[Engine], None], way: dict[str, object]
) -> None:
    """It is no part of the depth: however often it is asked, no more wait than the limit says."""
    limit(scripts, 3)
    place(engine)
    before = dump(engine.redis)
    with pytest.raises(DepthExceeded) as raised:
        scripts.enqueue(drop(**way))
    assert (raised.value.depth, raised.value.limit) == (3, 3)
    assert dump(engine.redis) == before


def test_the_room_at_a_gate_that_a_dropped_job_was_offered_goes_to_the_next(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 3)
    scripts.set_limit("stripe", 1, None)
    scripts.enqueue_many([job(f"j{n}", resource="stripe") for n in range(2)])
    scripts.enqueue(drop("old", resource="stripe", front=True))
    engine.scripts.pause_gate("stripe")
    slot = Slot(scripts)
    assert slot.claim() is None
    scripts.resume_gate("stripe")
    assert (queued(engine), status(engine, "j0")) == (["old"], "rate_limited")
    assert scripts.enqueue(drop("new")).state == "queued"
    assert queued(engine)[0] == "j0"


def test_the_new_job_takes_the_dropped_ones_place_in_depth(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 2)
    scripts.enqueue_many([job("x"), drop("old")])
    for n in range(3):
        assert scripts.enqueue(drop(f"new{n}")).state == "queued"
        assert len(queued(engine)) == 2
    slot = Slot(scripts)
    assert [slot.need().id for _ in range(2)] == ["x", "new2"]
    assert slot.claim() is None


def test_the_only_waiting_job_can_give_way_to_one_in_another_lane(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(drop("old"))
    scripts.enqueue(drop("new", lane="interactive"))
    assert (queued(engine), queued(engine, "acme.interactive")) == ([], ["new"])
    assert Slot(scripts).need().id == "new"


@pytest.mark.parametrize("key", ["k", "k2"])
def test_without_a_waiting_job_of_the_key_it_is_refused(engine: Engine, scripts: Scripts, key: str) -> None:
    """The one of the key runs, or there is none."""
    limit(scripts, 1)
    scripts.enqueue(drop("old"))
    Slot(scripts).need()
    scripts.enqueue(job("x"))
    before = dump(engine.redis)
    with pytest.raises(DepthExceeded):
        scripts.enqueue(drop(key=key))
    assert dump(engine.redis) == before
    assert status(engine, "old") == "started"


def test_one_that_may_not_drop_is_refused(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(job("x"))
    for how in ("refuse", "spill"):
        assert refused(scripts, key="k", on_full=how).limit == 1


def test_a_former_customers_job_never_gives_way(engine: Engine, scripts: Scripts) -> None:
    scripts.set_policy(Policy("acme", cap=None, uid="7"))
    scripts.enqueue(drop("old"))
    scripts.drop_policy("acme")
    scripts.set_policy(Policy("acme", cap=None, uid="8", depth_limit=1))
    with pytest.raises(DepthExceeded):
        scripts.enqueue(drop())
    assert status(engine, "old") == "queued"
    Slot(scripts).claim()  # buries it


def test_the_end_of_a_dropped_replay_is_told(scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(drop("r", replay_of="dead:1"))
    scripts.enqueue(drop("new"))
    (told,) = scripts.outcome_batch()
    assert (told.id, told.outcome, told.attempt, told.into) == ("r", "cancelled", 0, "new")
    assert (told.error_class, told.error) == ("Dropped", "job new of the same key took its place at the depth limit")


def test_the_end_of_a_dropped_retry_tells_its_attempt(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(drop("r", replay_of="dead:1"))
    Slot(scripts).run(Outcome.failed("error", delay_ms=60_000))
    scripts.enqueue(job("x"))
    scripts.enqueue(drop("new", **DELAYED))
    assert scripts.outcome_batch()[0].attempt == 1


def test_a_dropped_member_of_a_batch_has_ended_and_the_new_one_has_joined(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(drop("old", batch="B"))
    scripts.enqueue(drop("new", batch="B"))
    assert engine.redis.smembers(engine.keys.batch("B", "left")) == {b"new"}
    assert engine.redis.hgetall(engine.keys.batch("B", "ended")) == {b"cancelled": b"1"}


def test_a_dropped_replay_in_a_batch_stands_for_a_dead_member(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(drop("r", batch="B", replay_of="m:1"))
    scripts.enqueue(drop("new"))
    assert engine.redis.smembers(engine.keys.batch("B", "dead")) == {b"m"}


@pytest.mark.leaves_broken
def test_a_record_that_an_outsider_wrote_does_not_lose_the_new_job(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue(job("x"))
    engine.redis.set(engine.keys.unique("acme", "t.work", "k"), "alien")
    engine.redis.hset("rq:job:alien", "status", "queued")
    assert scripts.enqueue(drop("new")).state == "queued"
    assert queued(engine) == ["x", "new"]
    assert status(engine, "alien") == "canceled"


def test_dropping_needs_a_key(engine: Engine, scripts: Scripts) -> None:
    before = dump(engine.redis)
    with pytest.raises(InvalidJob, match=r"^key: is missing; with on_full drop_oldest it tells which"):
        scripts.enqueue(drop(key=""))
    assert dump(engine.redis) == before


def test_a_dropped_delayed_job_is_not_promoted(engine: Engine, scripts: Scripts) -> None:
    limit(scripts, 1)
    scripts.enqueue_many([drop("old", delay_ms=60_000), job("x")])
    make_due(engine, "old")
    scripts.enqueue(drop("new", **DELAYED))
    assert scripts.promote().moved == 0
    assert queued(engine) == ["x"]
