"""Many delayed jobs due at once: batch after batch, by one of the fleet at a time, and all who sleep wake up."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED, rq_queue
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import Slot, job, queued, status
from tests.engine.virtual_time import VirtualScripts, virtual

WEEK_MS = 7 * 86_400_000


def fall_due(engine: Engine, count: int, tenant: str = "acme", prefix: str = "j") -> list[str]:
    """Delayed jobs, all due since one instant."""
    ids = [f"{prefix}{n:05d}" for n in range(count)]
    engine.scripts.enqueue_many([job(each, tenant, delay_ms=WEEK_MS) for each in ids])
    engine.redis.zadd(RQ_SCHEDULED, dict.fromkeys(ids, 1.0), xx=True)
    return ids


def on_a_clock(engine: Engine) -> VirtualScripts:
    """The engine's commands on a clock that the test moves."""
    scripts = virtual(engine).scripts
    assert isinstance(scripts, VirtualScripts)
    scripts.set_policy(Policy("acme", cap=None))
    return scripts


def test_who_began_goes_on_at_once_and_nobody_else_comes_in_between(engine: Engine) -> None:
    """Batches of the whole fleet would follow upon each other, and a claim wait for all of them."""
    scripts = on_a_clock(engine)
    fall_due(engine, 9)
    assert scripts.promote(limit=3, min_interval_ms=200, by="one").moved == 3
    assert scripts.promote(limit=3, min_interval_ms=200, by="two").skipped
    scripts.set_clock(150)
    assert scripts.promote(limit=3, min_interval_ms=200, by="one").moved == 3
    scripts.set_clock(300)
    assert scripts.promote(limit=3, min_interval_ms=200, by="two").skipped
    assert scripts.promote(limit=3, min_interval_ms=200, by="one").moved == 3


def test_when_who_began_is_not_heard_of_another_goes_on(engine: Engine) -> None:
    scripts = on_a_clock(engine)
    fall_due(engine, 6)
    assert scripts.promote(limit=3, min_interval_ms=200, by="one").moved == 3
    scripts.set_clock(200)
    assert scripts.promote(limit=3, min_interval_ms=200, by="two").moved == 3
    assert scripts.promote(limit=3, min_interval_ms=200, by="one").skipped


def test_a_retry_that_stood_first_before_comes_to_the_end_and_is_no_first_one_any_more(
    engine: Engine, scripts: Scripts
) -> None:
    """Else its age would count as that of one that was put in front of those that waited longer."""
    scripts.enqueue(job("again", front=True))
    Slot(scripts).run(Outcome.failed("error", delay_ms=60_000))
    scripts.enqueue_many([job("waits"), job("later", delay_ms=60_000)])
    engine.redis.zadd(RQ_SCHEDULED, {"again": 1, "later": 2}, xx=True)
    assert scripts.promote().moved == 2
    assert queued(engine) == ["waits", "again", "later"]
    assert [engine.redis.hget(f"rq:job:{each}", "jo_front") for each in ("again", "later")] == [b"", b""]


def test_a_job_to_be_first_is_first_when_it_falls_due(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue_many([job("waits"), job("first", delay_ms=60_000, front=True), job("last", delay_ms=60_000)])
    engine.redis.zadd(RQ_SCHEDULED, {"first": 2, "last": 1}, xx=True)
    assert scripts.promote().moved == 2
    assert queued(engine) == ["first", "waits", "last"]


def test_jobs_of_several_tenants_keep_their_order_in_one_batch(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("waits"))
    ours, theirs = fall_due(engine, 1_500), fall_due(engine, 700, "beta", "b")
    assert scripts.promote(limit=5_000).moved == 2_200
    assert queued(engine) == ["waits", *ours]
    assert queued(engine, "beta.bulk") == theirs
    assert {status(engine, each) for each in (*ours, *theirs)} == {"queued"}


@pytest.mark.parametrize(("sleeping", "due"), [(4, 2), (2, 4)])
def test_as_many_wake_as_there_are_jobs_for(engine: Engine, scripts: Scripts, sleeping: int, due: int) -> None:
    for n in range(sleeping):
        assert Slot(scripts, f"slot{n}").claim() is None
    fall_due(engine, due)
    scripts.promote()
    assert engine.redis.llen(engine.keys.wake("bulk")) == min(sleeping, due)


@pytest.mark.leaves_broken
def test_a_queue_of_another_kind_stops_no_other(engine: Engine, scripts: Scripts) -> None:
    fall_due(engine, 3, "beta", "b")
    ours = fall_due(engine, 3)
    engine.redis.set(rq_queue("beta.bulk"), "not a list")
    assert scripts.promote().moved == 3
    assert queued(engine) == ours
