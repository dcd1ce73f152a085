"""A success stands for its key for the type's window, and for nobody else's key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Enqueued, NewJob, Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, expire, job, make_due, queued

HOUR = 3_600_000


def windowed(job_id: str, key: str = "k", **fields: object) -> NewJob:
    return job(job_id, key=key, **{"dedup_ms": HOUR} | fields)


@pytest.fixture
def done(engine: Engine, scripts: Scripts) -> Scripts:
    """The job ``first`` of the key ``k`` has succeeded, of a tenant with a lasting identity."""
    scripts.set_policy(Policy("acme", cap=None, uid="7"))
    scripts.enqueue(windowed("first"))
    assert Slot(scripts).run() == "succeeded"
    return scripts


def test_within_the_window_a_second_job_is_the_one_that_succeeded(engine: Engine, done: Scripts) -> None:
    assert done.enqueue(windowed("second")) == Enqueued("first", "coalesced")
    before = dump(engine.redis)
    assert done.enqueue(windowed("second")) == Enqueued("first", "coalesced")
    assert dump(engine.redis) == before
    assert not engine.redis.exists("rq:job:second")


def test_the_window_is_as_long_as_the_job_said_and_ends_by_itself(engine: Engine, done: Scripts) -> None:
    name = engine.keys.done("acme", "t.work", "k")
    assert HOUR - 60_000 < engine.redis.pttl(name) <= HOUR
    engine.redis.delete(name)
    assert done.enqueue(windowed("second")) == Enqueued("second", "queued")


@pytest.mark.parametrize("way", [{"delay_ms": 60_000}, {"front": True}, {"lane": "interactive"}, {"tenant_uid": "7"}])
def test_every_way_to_enqueue_finds_it(done: Scripts, way: dict[str, object]) -> None:
    """OB-02: later, to the front, in another lane, and with the tenant named."""
    assert done.enqueue(windowed("second", **way)) == Enqueued("first", "coalesced")
    (answer,) = done.enqueue_many([windowed("third", **way)])
    assert answer == Enqueued("first", "coalesced")


def test_it_stands_although_the_record_of_the_job_is_gone(engine: Engine, done: Scripts) -> None:
    """A type that keeps few results forgets it sooner."""
    engine.redis.delete("rq:job:first")
    assert done.enqueue(windowed("second")) == Enqueued("first", "coalesced")


@pytest.mark.parametrize("record_is_there", [True, False])
def test_it_never_stands_for_another_customer_who_got_the_slug(
    engine: Engine, done: Scripts, record_is_there: bool
) -> None:
    if not record_is_there:
        engine.redis.delete("rq:job:first")
    done.drop_policy("acme")
    done.set_policy(Policy("acme", cap=None, uid="8"))
    assert done.enqueue(windowed("second")) == Enqueued("second", "queued")


def test_of_a_tenant_whose_identity_is_not_known_nothing_stands_for_one_that_has_one(
    engine: Engine, scripts: Scripts
) -> None:
    scripts.enqueue(windowed("first"))
    Slot(scripts).run()
    assert scripts.enqueue(windowed("second")).state == "coalesced", "nobody in this cell has one"
    scripts.set_policy(Policy("acme", cap=None, uid="8"))
    assert scripts.enqueue(windowed("third")).state == "queued"


@pytest.mark.parametrize(
    "other",
    [{"key": "k2"}, {"key": ""}, {"job_type": "t.other"}, {"tenant": "beta"}, {"dedup_ms": 0}, {"replay_of": "dead:1"}],
)
def test_nothing_else_is_taken_for_it(done: Scripts, other: dict[str, object]) -> None:
    """Another key, none, another type or tenant, a contract without a window, and a replay that a person asked for."""
    assert done.enqueue(windowed("second", **other)) == Enqueued("second", "queued")


def test_a_replays_success_stands_too(scripts: Scripts) -> None:
    scripts.enqueue(windowed("r", replay_of="dead:1"))
    Slot(scripts).run()
    assert scripts.enqueue(windowed("second")) == Enqueued("r", "coalesced")


def _dead(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).run(Outcome.failed("poison"))


def _lost(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).need()
    expire(engine, "first")
    scripts.rescue()


def _discarded(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).run(Outcome.discarded())


def _cancelled(scripts: Scripts, engine: Engine) -> None:
    scripts.cancel("first")


@pytest.mark.parametrize("end", [_dead, _lost, _discarded, _cancelled])
def test_one_that_did_not_succeed_never_blocks_the_next(
    engine: Engine, scripts: Scripts, end: Callable[[Scripts, Engine], None]
) -> None:
    """DL-09, DL-10: a dead, lost, discarded or cancelled one."""
    scripts.enqueue(windowed("first", max_attempts=1))
    end(scripts, engine)
    assert not engine.redis.exists(engine.keys.done("acme", "t.work", "k"))
    assert scripts.enqueue(windowed("second")) == Enqueued("second", "queued")


def test_success_after_a_retry_stands_and_until_then_the_job_is_alive(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(windowed("first"))
    slot = Slot(scripts)
    slot.run(BOOM)
    assert scripts.enqueue(windowed("second")).id == "first"
    make_due(engine, "first")
    scripts.promote()
    assert slot.run() == "succeeded"
    assert scripts.enqueue(windowed("third")).id == "first"
    assert queued(engine) == []


def test_a_job_without_a_window_or_key_leaves_nothing_behind(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("a", key="k"), windowed("b", key="")])
    slot = Slot(scripts)
    slot.run()
    slot.run()
    assert engine.redis.keys("jobops:done:*") == []


def test_a_watched_job_in_the_window_of_its_live_key_is_told_as_coalesced(scripts: Scripts) -> None:
    scripts.enqueue(windowed("first"))
    scripts.enqueue(windowed("r", replay_of="dead:1"))
    (told,) = scripts.outcome_batch()
    assert (told.id, told.outcome, told.into) == ("r", "coalesced", "first")


@pytest.mark.parametrize("way", ["live", "window"])
def test_a_coalesced_member_of_a_batch_has_ended(engine: Engine, scripts: Scripts, way: str) -> None:
    scripts.enqueue(windowed("first"))
    if way == "window":
        Slot(scripts).run()
    for _ in range(2):
        scripts.enqueue(windowed("member", batch="B"))
    assert engine.redis.smembers(engine.keys.batch("B", "left")) == set()
    assert engine.redis.hgetall(engine.keys.batch("B", "ended")) == {b"coalesced": b"1"}
    assert engine.redis.zscore(engine.keys.batches(), "B")
