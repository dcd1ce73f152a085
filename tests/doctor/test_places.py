"""I1: whatever stands in no place, in two, or where it should not is found and mended (LS-03, LS-11)."""

from __future__ import annotations

import pytest

from jobops.audit.models import AuditEntry
from jobops.doctor.site import Site
from jobops.engine import keys as rq
from jobops.engine.records import Outcome
from jobops.runtime.cancelling import cancel
from tests.doctor.plant import left, look, mended, running_job, waiting_job
from tests.engine import invariants
from tests.engine.helpers import expire
from tests.runtime import factory
from tests.runtime.factory import claim, run_all, settle, waiting

QUEUE = "rq:queue:acme.interactive"


@pytest.fixture(autouse=True)
def _all_holds_in_the_end(site: Site) -> object:
    yield
    invariants.check(site.engine)


def test_a_waiting_job_in_no_queue_is_put_back_and_runs(site: Site) -> None:
    lost, other = waiting_job(site.engine), waiting_job(site.engine)
    site.engine.redis.lrem(QUEUE, 1, lost)
    mended(site, ("in_no_list", lost))
    assert run_all(site.engine) == [lost, other]


def test_the_last_job_of_a_queue_that_was_deleted_is_put_back_and_runs(site: Site) -> None:
    lost = waiting_job(site.engine)
    site.engine.redis.delete(QUEUE)
    site.engine.scripts.reconcile("acme.interactive")
    mended(site, ("in_no_list", lost))
    assert run_all(site.engine) == [lost]


def test_a_delayed_job_that_is_nowhere_is_put_back_for_when_it_is_due(site: Site) -> None:
    lost = waiting_job(site.engine, delay_ms=3_600_000)
    due = site.engine.redis.zscore(rq.RQ_SCHEDULED, lost)
    site.engine.redis.delete(rq.RQ_SCHEDULED)
    mended(site, ("in_no_list", lost))
    assert site.engine.redis.zscore(rq.RQ_SCHEDULED, lost) == due


def test_a_job_twice_in_its_queue_runs_once(site: Site) -> None:
    twice, other = waiting_job(site.engine), waiting_job(site.engine)
    site.engine.redis.rpush(QUEUE, twice)
    mended(site, ("in_two_lists", twice))
    assert run_all(site.engine) == [twice, other]


def test_a_job_in_another_tenants_queue_too_is_taken_out_there(site: Site) -> None:
    factory.tenant("other")
    twice, _theirs = waiting_job(site.engine), waiting_job(site.engine, tenant="other")
    site.engine.redis.rpush("rq:queue:other.interactive", twice)
    mended(site, ("in_two_lists", twice))
    assert waiting(site.engine) == [twice]
    row = AuditEntry.objects.get(action="job.mend")
    assert (row.tenant_id, row.tenant_slug) == (None, ""), "neither tenant's people read of the other"


def test_a_job_in_another_queue_only_is_moved_to_its_own(site: Site) -> None:
    factory.tenant("other")
    moved, _theirs = waiting_job(site.engine), waiting_job(site.engine, tenant="other")
    site.engine.redis.lmove(QUEUE, "rq:queue:other.interactive", "LEFT", "RIGHT")
    site.engine.scripts.reconcile("acme.interactive")
    mended(site, ("in_two_lists", moved))
    assert waiting(site.engine) == [moved]


def test_a_waiting_job_among_the_delayed_ones_too_is_taken_out_there(site: Site) -> None:
    twice = waiting_job(site.engine)
    site.engine.redis.zadd(rq.RQ_SCHEDULED, {twice: 1})
    mended(site, ("in_two_lists", twice))
    assert (waiting(site.engine), site.engine.redis.zcard(rq.RQ_SCHEDULED)) == ([twice], 0)


def test_a_running_job_that_waits_too_is_taken_out_of_its_queue(site: Site) -> None:
    running = running_job(site.engine)
    site.engine.redis.rpush(QUEUE, running.id)
    site.engine.scripts.reconcile("acme.interactive")
    mended(site, ("in_two_lists", running.id))
    assert settle(site.engine, running, Outcome.succeeded()) == "succeeded"


def test_an_ended_job_in_a_queue_is_taken_out(site: Site) -> None:
    ended = running_job(site.engine)
    settle(site.engine, ended, Outcome.succeeded())
    site.engine.redis.rpush(QUEUE, ended.id)
    site.engine.scripts.reconcile("acme.interactive")
    mended(site, ("ended_in_list", ended.id))


def test_a_cancelled_job_among_the_delayed_ones_is_taken_out(site: Site) -> None:
    ended = waiting_job(site.engine)
    assert cancel(ended) == "cancelled"
    site.engine.redis.zadd(rq.RQ_SCHEDULED, {ended: 9e9})
    mended(site, ("ended_in_list", ended))


@pytest.mark.parametrize("delay_ms", [0, 3_600_000])
def test_an_entry_whose_job_was_evicted_is_taken_out_and_told(site: Site, delay_ms: int) -> None:
    gone = waiting_job(site.engine, delay_ms=delay_ms)
    site.engine.redis.delete(rq.rq_job(gone))
    report = mended(site, ("entry_without_job", gone))
    assert "lost" in report.findings[0].done


def test_a_plain_rq_job_in_one_of_our_queues_is_no_fault(site: Site) -> None:
    """Trap 12."""
    from rq import Queue
    from rq.serializers import JSONSerializer

    Queue("acme.interactive", connection=site.engine.redis, serializer=JSONSerializer).enqueue("os.getcwd")
    Queue("default", connection=site.engine.redis, serializer=JSONSerializer).enqueue("os.getcwd")
    site.engine.scripts.reconcile("acme.interactive")
    assert look(site) == []


def _no_lease_entry(site: Site, job_id: str) -> None:
    site.engine.redis.zrem(site.engine.keys.leases(), job_id)


def _no_lease_hash(site: Site, job_id: str) -> None:
    site.engine.redis.delete(site.engine.keys.lease(job_id))


def _neither(site: Site, job_id: str) -> None:
    _no_lease_entry(site, job_id)
    _no_lease_hash(site, job_id)


def _nothing_at_all(site: Site, job_id: str) -> None:
    _neither(site, job_id)
    site.engine.redis.delete(site.engine.keys.inflight("acme"), "rq:wip:acme.interactive")


@pytest.mark.parametrize("break_it", [_no_lease_entry, _no_lease_hash, _neither, _nothing_at_all])
def test_a_running_job_without_a_lease_gets_its_next_attempt(site: Site, break_it: object) -> None:
    """LS-11"""
    running = running_job(site.engine)
    break_it(site, running.id)  # type: ignore[operator]
    mended(site, ("job_without_lease", running.id))
    again = claim(site.engine)
    assert again is not None
    assert (again.id, again.attempt) == (running.id, 2)


def test_a_running_job_that_is_not_counted_in_flight_is_counted_again_and_runs_on(site: Site) -> None:
    running = running_job(site.engine)
    site.engine.redis.delete(site.engine.keys.inflight("acme"), "rq:wip:acme.interactive")
    mended(site, ("job_without_lease", running.id))
    assert settle(site.engine, running, Outcome.succeeded()) == "succeeded"


def test_a_lease_that_outlived_its_job_is_dropped(site: Site) -> None:
    """LS-01"""
    ended = running_job(site.engine)
    lease = site.engine.redis.hgetall(site.engine.keys.lease(ended.id))
    settle(site.engine, ended, Outcome.succeeded())
    site.engine.redis.hset(site.engine.keys.lease(ended.id), mapping=lease)
    site.engine.redis.zadd(site.engine.keys.leases(), {ended.id: 9e12})
    mended(site, ("lease_without_job", ended.id))


def test_an_expired_lease_whose_job_was_evicted_ends_in_the_dead_intake(site: Site) -> None:
    gone = running_job(site.engine)
    site.engine.redis.delete(rq.rq_job(gone.id))
    expire(site.engine, gone.id)
    mended(site, ("lease_without_job", gone.id))
    assert [death.job_id for death in site.engine.scripts.dead_batch()] == [gone.id]


def test_a_living_lease_whose_job_was_evicted_is_told_and_left_to_its_worker(site: Site) -> None:
    gone = running_job(site.engine)
    site.engine.redis.delete(rq.rq_job(gone.id))
    report = left(site, ("lease_without_job", gone.id))
    assert "a worker runs it" in report.findings[0].done
    assert settle(site.engine, gone, Outcome.succeeded()) == "succeeded"
    assert look(site) == []


def test_a_place_in_flight_that_nothing_holds_is_freed(site: Site) -> None:
    factory.tenant("capped", cap=1)
    engine = site.engine
    engine.redis.zadd(engine.keys.inflight("capped"), {"ghost": 1})
    engine.redis.zadd("rq:wip:capped.interactive", {"ghost:token": float("inf")})
    engine.redis.sadd(engine.keys.busy(), "capped")
    waiting_job(engine, tenant="capped")
    assert claim(engine) is None
    mended(site, ("lease_without_job", "ghost"))
    assert claim(engine) is not None
