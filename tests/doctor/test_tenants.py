"""Tenants and their queues: caps (I2), rings (I4), policies, and queues that nobody takes from."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobops.doctor.checks import CHECKS
from jobops.doctor.examination import examine
from jobops.doctor.site import Site
from jobops.engine.records import Policy
from jobops.engine.registrations import request_drain, withdraw
from tenants import services
from tenants.models import Tenant
from tests.doctor import plant
from tests.doctor.plant import left, look, mended, running_job, waiting_job
from tests.runtime import factory
from tests.runtime.factory import claim, new_job


def test_more_in_flight_than_the_cap_is_told_and_left(site: Site) -> None:
    """I2: here a claim past a cap that was in force long before."""
    for _ in range(3):
        running_job(site.engine)
    Tenant.objects.update(cap=2, policy_pushed_at=timezone.now() - timedelta(hours=1))
    site.engine.redis.hset(site.engine.keys.tenant("acme"), "cap", 2)
    report = left(site, ("over_cap", "acme"))
    assert report.findings[0].invariant == "I2"


def test_a_lane_above_its_own_cap_is_told(site: Site) -> None:
    running_job(site.engine)
    Tenant.objects.update(lane_caps={"interactive": 0}, policy_pushed_at=timezone.now() - timedelta(hours=1))
    site.engine.redis.hset(site.engine.keys.tenant("acme"), "cap:interactive", 0)
    report = left(site, ("over_cap", "acme"))
    assert "in lane interactive" in report.findings[0].text


def test_a_cap_that_was_lowered_while_jobs_run_is_a_note_and_no_fault(site: Site) -> None:
    for _ in range(3):
        running_job(site.engine)
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", cap=1)
    report = examine(site, CHECKS)
    assert (report.wrong, [finding.code for finding in report.findings]) == (0, ["over_cap"])
    assert "lowered while they ran" in report.findings[0].text


@pytest.mark.parametrize("key", ["ring", "active"])
def test_a_queue_that_its_ring_or_index_lacks_is_reconciled(site: Site, key: str) -> None:
    job_id = waiting_job(site.engine)
    site.engine.redis.delete(getattr(site.engine.keys, key)("interactive"))
    mended(site, ("ring_out_of_date", "acme.interactive"))
    claimed = claim(site.engine)
    assert claimed is not None
    assert claimed.id == job_id


@pytest.mark.parametrize("key", ["ring", "active"])
def test_a_tenant_in_ring_or_index_without_work_is_taken_out(site: Site, key: str) -> None:
    site.engine.redis.sadd("rq:queues", "rq:queue:acme.interactive")
    site.engine.redis.zadd(getattr(site.engine.keys, key)("interactive"), {"acme": 1})
    mended(site, ("ring_out_of_date", "acme.interactive"))


def test_a_queue_that_rqs_list_lacks_is_listed_again(site: Site) -> None:
    waiting_job(site.engine)
    site.engine.redis.delete("rq:queues")
    mended(site, ("ring_out_of_date", "acme.interactive"))
    assert site.engine.redis.smembers("rq:queues") == {b"rq:queue:acme.interactive"}


def test_paused_tenants_and_those_at_their_cap_are_rightly_not_in_the_ring(site: Site) -> None:
    for slug in ("full", "paused"):
        factory.tenant(slug, cap=1)
    running_job(site.engine, tenant="full")
    waiting_job(site.engine, tenant="full")
    waiting_job(site.engine, tenant="paused")
    services.tenant_pause(tenant=Tenant.objects.get(slug="paused"), by="tests", reason="test")
    assert look(site) == []


def _policy_gone(site: Site) -> None:
    site.engine.redis.delete(site.engine.keys.tenant("acme"))


def _policy_changed(site: Site) -> None:
    site.engine.redis.hset(site.engine.keys.tenant("acme"), "weight", 7)


def _never_pushed(site: Site) -> None:
    Tenant.objects.update(depth_limit=5, policy_version=services.next_version())


@pytest.mark.parametrize("break_it", [_policy_gone, _policy_changed, _never_pushed])
def test_a_policy_that_redis_has_otherwise_is_pushed_again(site: Site, break_it: object) -> None:
    break_it(site)  # type: ignore[operator]
    mended(site, ("policy_drift", "acme"))


def test_lanes_that_redis_has_otherwise_are_pushed_again(site: Site) -> None:
    site.engine.redis.hset(site.engine.keys.lanes(), "bulk", 99)
    mended(site, ("policy_drift", "lanes"))


def test_a_tenant_that_only_redis_knows_runs_nothing_any_more(site: Site) -> None:
    site.engine.scripts.set_policy(Policy("ghost", version=1))
    site.engine.scripts.enqueue(new_job("ghost"))
    wanted = ("policy_drift", "ghost")
    unknown = ("unknown_queue", "ghost.interactive")
    assert look(site) == [wanted, unknown]
    report = examine(site, CHECKS, repair=True, by=plant.BY)
    assert {finding.code: finding.repaired for finding in report.findings} == {wanted[0]: True, unknown[0]: False}
    assert claim(site.engine) is None
    assert look(site) == [unknown]


def test_a_queue_of_a_lane_that_nobody_knows_is_told(site: Site) -> None:
    site.engine.scripts.set_lanes({"former": 1.0})
    site.engine.scripts.enqueue(new_job(lane="former"))
    plant.worker(site.engine, ("interactive", "bulk", "former"))
    assert look(site) == []
    site.engine.redis.hdel(site.engine.keys.lanes(), "former")
    left(site, ("unknown_queue", "acme.former"))


def test_a_lane_that_only_a_draining_worker_serves_is_unserved(site: Site) -> None:
    waiting_job(site.engine, lane="bulk")
    plant.worker(site.engine, ("interactive",))
    plant.worker(site.engine, ("bulk",), name="host-89abcdef")
    assert look(site) == []
    request_drain(site.engine, "host-89abcdef")
    report = left(site, ("queue_unserved", "bulk"))
    assert "acme.bulk" in report.findings[0].text
    withdraw(site.engine, "host-89abcdef")
    left(site, ("queue_unserved", "bulk"))
