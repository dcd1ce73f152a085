"""Many delayed jobs due at once: batch after batch, by one of the fleet at a time, and all who sleep wake up."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import RQ_SCHEDULED, rq_queue
from jobops.engine.records import Policy
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


def test_while_more_is_due_the_next_batch_comes_after_a_short_pause(engine: Engine) -> None:
    """Not after the whole interval: 100,000 due jobs would take hours."""
    scripts = on_a_clock(engine)
    fall_due(engine, 5)
    assert scripts.promote(limit=3, min_interval_ms=60_000).moved == 3
    scripts.set_clock(2)
    assert scripts.promote(limit=3, min_interval_ms=60_000).moved == 2
    scripts.set_clock(4)
    assert scripts.promote(limit=3, min_interval_ms=60_000).skipped


def test_two_batches_leave_others_time_in_between(engine: Engine) -> None:
    """However many promote: else claims would wait for all of their batches."""
    scripts = on_a_clock(engine)
    fall_due(engine, 5)
    assert scripts.promote(limit=3, min_interval_ms=60_000).moved == 3
    scripts.set_clock(1)
    assert scripts.promote(limit=3, min_interval_ms=60_000).skipped


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
