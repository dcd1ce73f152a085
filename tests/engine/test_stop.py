"""Stop: the lease is marked and its supervisor told; nothing else changes until somebody ends the lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts
from tests.engine.helpers import BOOM, Slot, dump, job, queued, status

SLOT = "host-0a1b2c3d-2.7"


@pytest.fixture
def full(engine: Engine) -> Iterator[Callable[[], object]]:
    """Redis takes nothing more once this is called, until the test ends."""
    yield lambda: engine.redis.config_set("maxmemory", 1)
    engine.redis.config_set("maxmemory", 0)


def test_a_full_redis_stops_what_runs_and_pauses_what_waits(
    engine: Engine, scripts: Scripts, full: Callable[[], object]
) -> None:
    scripts.load()
    scripts.set_limit("mail", 1, None)
    scripts.enqueue_many([job("a"), job("b")])
    slot = Slot(scripts)
    slot.need()
    full()
    assert scripts.stop("a") == "stopping"
    assert scripts.pause_gate("mail")
    assert scripts.pause("acme")
    assert slot.settle(outcome=BOOM, claim=True).outcome == "stopped"
    assert slot.held is None
    assert scripts.pause()
    assert scripts.resume()
    assert scripts.resume("acme")
    assert scripts.resume_gate("mail")
    assert slot.need().id == "b"


def test_the_lease_is_marked_and_the_slots_supervisor_told(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    claimed = Slot(scripts, SLOT).need()
    assert scripts.stop("a", note="stopped by anna: wrong file") == "stopping"
    lease = engine.redis.hgetall(engine.keys.lease("a"))
    assert (lease[b"stop"], lease[b"stop_note"]) == (b"end", b"stopped by anna: wrong file")
    assert engine.redis.hgetall(engine.keys.stops("host-0a1b2c3d")) == {b"a": claimed.token.encode()}
    assert 0 < engine.redis.ttl(engine.keys.stops("host-0a1b2c3d")) <= 86_400
    assert status(engine, "a") == "started"
    assert scripts.stop("a", retry=True) == "stopping"
    assert engine.redis.hget(engine.keys.lease("a"), "stop") == b"retry"


def test_only_running_jobs_are_stopped(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("done"))
    Slot(scripts).run()
    scripts.enqueue_many([job("waiting"), job("later", delay_ms=99_000)])
    before = dump(engine.redis)
    for job_id in ("done", "waiting", "later"):
        assert scripts.stop(job_id) == "not_running"
    assert scripts.stop("nothing") == "not_found"
    assert dump(engine.redis) == before


def test_another_tenants_job_is_not_found(engine: Engine, scripts: Scripts) -> None:
    """SE-05"""
    scripts.enqueue(job("a"))
    Slot(scripts, SLOT).need()
    before = dump(engine.redis)
    assert scripts.stop("a", "beta") == "not_found"
    assert dump(engine.redis) == before
    assert scripts.stop("a", "acme") == "stopping"


def test_a_job_whose_record_was_lost_is_stopped_by_its_lease(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts, SLOT)
    slot.need()
    engine.redis.delete("rq:job:a")
    assert scripts.stop("a", "beta") == "not_found"
    assert scripts.stop("a", "acme") == "stopping"
    slot.settle()


def test_a_job_that_succeeds_first_has_succeeded(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a"))
    slot = Slot(scripts, SLOT)
    slot.need()
    scripts.stop("a")
    assert slot.settle().outcome == "succeeded"
    assert (status(engine, "a"), queued(engine)) == ("finished", [])
    assert scripts.stop("a") == "not_running"


def test_one_on_its_last_attempt_is_not_stopped_to_run_again(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=2))
    slot = Slot(scripts, SLOT)
    slot.need()
    assert scripts.stop("a", retry=True) == "stopping"
    assert slot.settle(outcome=BOOM).outcome == "retry"
    slot.need()
    before = dump(engine.redis)
    assert scripts.stop("a", retry=True) == "last_attempt"
    assert dump(engine.redis) == before
    assert scripts.stop("a") == "stopping"
    assert slot.settle(outcome=BOOM).outcome == "stopped"


def test_one_whose_record_was_lost_cannot_run_again(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=5))
    slot = Slot(scripts, SLOT)
    slot.need()
    engine.redis.delete("rq:job:a")
    assert scripts.stop("a", retry=True) == "last_attempt"
    slot.settle()


def test_one_of_a_deleted_tenant_is_not_stopped_to_run_again(engine: Engine, scripts: Scripts) -> None:
    scripts.enqueue(job("a", max_attempts=5))
    slot = Slot(scripts, SLOT)
    slot.need()
    scripts.drop_policy("acme")
    assert scripts.stop("a", retry=True) == "tenant_gone"
    assert engine.redis.hget(engine.keys.lease("a"), "stop") != b"retry"
    slot.settle()
