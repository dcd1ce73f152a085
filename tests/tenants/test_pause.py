"""A pause holds from the moment it is confirmed, whatever restarts meanwhile."""

from __future__ import annotations

import uuid

import pytest

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from jobops.engine.errors import IntakeClosed
from jobops.engine.records import NewJob, Outcome
from tenants import policy
from tenants.models import Tenant
from tenants.policy import push_all
from tenants.services import tenant_create, tenant_pause, tenant_resume
from tests.conftest import LANES

pytestmark = pytest.mark.django_db(transaction=True)


def enqueue(engine: Engine, **fields: object) -> str:
    job = NewJob(uuid.uuid4().hex, "acme", "bulk", "t", b'["t",null,[],{}]', **fields)  # type: ignore[arg-type]
    return engine.scripts.enqueue(job).id


def starts(engine: Engine, slot: str = "s1") -> str:
    """The id of the job that a free slot would start now, or ''."""
    starts.seq += 1  # type: ignore[attr-defined]
    job = engine.scripts.claim(slot, starts.seq, "w1", list(LANES), 10).job  # type: ignore[attr-defined]
    return job.id if job else ""


starts.seq = 0  # type: ignore[attr-defined]


def test_after_a_pause_was_confirmed_nothing_starts_until_resume(plugged: Engine) -> None:
    """CC-10: a slot that waits already gets nothing that comes in after the pause."""
    tenant = tenant_create(slug="acme", by="test").tenant
    assert starts(plugged) == "", "an idle slot waits"
    assert tenant_pause(tenant=tenant, by="test", reason="r").in_force
    job = enqueue(plugged)
    assert starts(plugged) == ""
    assert tenant_resume(tenant=tenant, by="test").in_force
    assert starts(plugged) == job


def test_a_pause_covers_retries_and_what_was_waiting(plugged: Engine) -> None:
    """CC-11: what comes back by a retry or a due time waits like any other."""
    tenant = tenant_create(slug="acme", by="test").tenant
    enqueue(plugged)
    claimed = plugged.scripts.claim("s2", 1, "w1", list(LANES), 10).job
    assert claimed is not None
    assert tenant_pause(tenant=tenant, by="test", reason="r").in_force
    settled = plugged.scripts.settle("s2", 2, claimed.id, claimed.token, Outcome.failed("error", "E", "e"))
    assert settled.outcome == "retry"
    plugged.scripts.promote()
    assert starts(plugged) == ""
    assert tenant_resume(tenant=tenant, by="test").in_force
    assert starts(plugged) == claimed.id


def test_a_pause_outlives_a_restart_and_a_flush_of_redis(own_redis: EmbeddedRedis) -> None:
    """CC-11: the pause is in the database; Redis, restarted or emptied, gets it back before anything starts."""
    engine = Engine(connect(own_redis.url), lanes=LANES)
    engine.prepare()
    before = policy._pusher
    policy.set_pusher(engine.scripts)
    try:
        tenant = tenant_create(slug="acme", by="test").tenant
        tenant_pause(tenant=tenant, by="test", reason="r")
        job = enqueue(engine)
        own_redis.restart()
        assert starts(engine) == ""
        engine.redis.flushall()
        engine.prepare()
        assert push_all(engine.scripts) == 1
        job = enqueue(engine)
        assert starts(engine) == ""
        assert tenant_resume(tenant=tenant, by="test").in_force
        assert starts(engine) == job
    finally:
        policy.set_pusher(before)


def test_a_pause_with_closed_intake_refuses_new_jobs(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    tenant_pause(tenant=tenant, by="test", reason="r", close_intake=True)
    with pytest.raises(IntakeClosed):
        enqueue(plugged)
    tenant_resume(tenant=Tenant.objects.get(), by="test", open_intake=True)
    enqueue(plugged)
