"""A key coalesces while its job lives, and not a moment longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Enqueued, Outcome
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, expire, job, make_due, queued


def _waiting(scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k"))


def _delayed(scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k", delay_ms=60_000))


def _started(scripts: Scripts) -> None:
    _waiting(scripts)
    Slot(scripts).need()


def _retrying(scripts: Scripts) -> None:
    _waiting(scripts)
    Slot(scripts).run(Outcome.failed("error", delay_ms=60_000))


@pytest.mark.parametrize("live", [_waiting, _delayed, _started, _retrying])
def test_a_second_job_with_the_key_of_a_live_one_is_that_one(
    engine: Engine, scripts: Scripts, live: Callable[[Scripts], None]
) -> None:
    live(scripts)
    assert scripts.enqueue(job("second", key="k")) == Enqueued("first", "coalesced")
    before = dump(engine.redis)
    assert scripts.enqueue(job("second", key="k")) == Enqueued("first", "coalesced")
    assert dump(engine.redis) == before
    assert not engine.redis.exists("rq:job:second")
    assert 86_000 < engine.redis.ttl(engine.keys.pushed("second")) <= 86_400


def test_a_coalesced_id_stays_coalesced_when_the_first_job_has_ended(engine: Engine, scripts: Scripts) -> None:
    """An enqueue that is sent again after a lost reply makes no second job."""
    scripts.enqueue(job("first", key="k"))
    scripts.enqueue(job("second", key="k"))
    Slot(scripts).run()
    assert scripts.enqueue(job("second", key="k")) == Enqueued("first", "coalesced")
    assert queued(engine) == []


def _succeeded(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).run()


def _died(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).run(Outcome.failed("poison"))


def _died_of_lost_workers(scripts: Scripts, engine: Engine) -> None:
    slot = Slot(scripts)
    slot.need()
    expire(engine, "first")
    scripts.rescue()


def _discarded(scripts: Scripts, engine: Engine) -> None:
    Slot(scripts).run(Outcome.discarded())


def _cancelled(scripts: Scripts, engine: Engine) -> None:
    assert scripts.cancel("first") == "cancelled"


def _vanished(scripts: Scripts, engine: Engine) -> None:
    engine.redis.delete("rq:job:first", "rq:queue:acme.bulk")
    scripts.reconcile("acme.bulk")


@pytest.mark.parametrize("end", [_succeeded, _died, _died_of_lost_workers, _discarded, _cancelled, _vanished])
def test_the_key_is_free_as_soon_as_its_job_has_ended(
    engine: Engine, scripts: Scripts, end: Callable[[Scripts, Engine], None]
) -> None:
    """DL-09: a dead job blocks no later occurrence. DL-10: nor does a cancelled one. OB-07: a failure frees its key."""
    scripts.enqueue(job("first", key="k", max_attempts=1))
    end(scripts, engine)
    assert scripts.enqueue(job("second", key="k")) == Enqueued("second", "queued")
    assert queued(engine) == ["second"]


def test_a_delayed_job_that_was_cancelled_frees_its_key_at_once(scripts: Scripts) -> None:
    """DL-10: due in an hour, cancelled, enqueued again."""
    scripts.enqueue(job("first", key="k", delay_ms=3_600_000))
    scripts.cancel("first")
    assert scripts.enqueue(job("second", key="k", delay_ms=3_600_000)) == Enqueued("second", "scheduled")


def test_a_recurring_key_runs_again_after_each_death(engine: Engine, scripts: Scripts) -> None:
    """DL-09: one key each minute; every second occurrence dies."""
    for minute in range(6):
        assert scripts.enqueue(job(f"m{minute}", key="every minute", max_attempts=1)).state == "queued"
        Slot(scripts, f"s{minute}").run(BOOM if minute % 2 else None)
    assert engine.redis.zcard(engine.keys.dead()) == 3


def test_the_end_of_an_old_job_does_not_free_the_key_of_a_new_one(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k"))
    slot = Slot(scripts)
    slot.need()
    engine.redis.hset("rq:job:first", "status", "canceled")  # by an outsider
    assert scripts.enqueue(job("second", key="k")).state == "queued"
    slot.settle()
    assert scripts.enqueue(job("third", key="k")) == Enqueued("second", "coalesced")


def test_keys_are_apart_by_tenant_and_by_type(engine: Engine, scripts: Scripts) -> None:
    jobs = [
        job("a", key="k"),
        job("b", key="k", tenant="beta"),
        job("c", key="k", job_type="t.other"),
        job("d", key="k2"),
        job("e"),
        job("f"),
    ]
    assert {answer.state for answer in scripts.enqueue_many(jobs) if isinstance(answer, Enqueued)} == {"queued"}
    assert queued(engine) == ["a", "c", "d", "e", "f"]


def test_one_key_coalesces_over_lanes(scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k", lane="bulk"))
    assert scripts.enqueue(job("second", key="k", lane="interactive")) == Enqueued("first", "coalesced")


def test_children_keyed_by_parent_and_item_are_made_once_when_the_parent_is_retried(
    engine: Engine, scripts: Scripts
) -> None:
    """OB-09: a fan-out of ten fails at the sixth and is retried."""
    children = [job(f"try1-{n}", key=f"parent:{n}") for n in range(6)]
    scripts.enqueue_many(children)
    again = scripts.enqueue_many([job(f"try2-{n}", key=f"parent:{n}") for n in range(10)])
    assert [answer.state for answer in again if isinstance(answer, Enqueued)] == ["coalesced"] * 6 + ["queued"] * 4
    assert len(queued(engine)) == 10


def test_a_key_follows_its_job_through_delay_retry_and_release(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("first", key="k", delay_ms=60_000))
    make_due(engine, "first")
    scripts.promote()
    slot = Slot(scripts)
    slot.run(Outcome.released())
    slot.run(BOOM)
    scripts.promote()
    assert slot.need().key == "k"
    assert scripts.enqueue(job("second", key="k")).state == "coalesced"
    slot.settle()
    assert scripts.enqueue(job("third", key="k")).state == "queued"
