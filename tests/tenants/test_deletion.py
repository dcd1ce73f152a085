"""Deleting a tenant: nothing that lives is orphaned."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from dlq.models import DeadLetter, State
from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine, connect
from jobops.engine.errors import UnknownTenant
from jobops.engine.records import NewJob
from tenants import leftovers as leftover
from tenants.deletion import tenant_delete
from tenants.errors import EngineAway, TenantBusy, TenantGone
from tenants.leftovers import leftovers
from tenants.models import Membership, Tenant
from tenants.policy import push_all
from tenants.roles import Role
from tenants.services import tenant_create, tenant_pause
from tests.conftest import LANES
from tests.tenants.fakes import Recorder
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def enqueue(engine: Engine, tenant: str = "acme", **fields: object) -> str:
    job = NewJob(uuid.uuid4().hex, tenant, "bulk", "t", b'["t",null,[],{}]', **fields)  # type: ignore[arg-type]
    return engine.scripts.enqueue(job).id


def outbox_row(job_id: str, **fields: object) -> OutboxEntry:
    now = timezone.now()
    defaults: dict[str, object] = {
        "tenant": "acme", "lane": "bulk", "job_type": "t", "data": b"", "max_attempts": 1, "timeout_ms": 1,
        "lease_ms": 1, "result_ttl_s": 1, "created_at": now, "next_try_at": now,
    }  # fmt: skip
    return OutboxEntry.objects.create(id=job_id, **(defaults | fields))


def test_a_tenant_with_nothing_left_is_deleted_here_and_in_the_engine(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    person(Role.TENANT_ADMIN, tenant)
    tenant_delete(tenant=tenant, by="test", engine=plugged)
    assert not Tenant.objects.exists()
    assert not Membership.objects.exists()
    assert plugged.scripts.policy("acme") is None
    with pytest.raises(UnknownTenant):
        enqueue(plugged)
    with pytest.raises(TenantGone):
        tenant_delete(tenant=tenant, by="test", engine=plugged)


def test_waiting_running_and_delayed_jobs_stand_in_the_way(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    tenant_create(slug="other", by="test")
    enqueue(plugged), enqueue(plugged), enqueue(plugged, delay_ms=60_000), enqueue(plugged, "other", delay_ms=60_000)
    assert plugged.scripts.claim("s", 1, "w", list(LANES)).job
    expected = {"waiting jobs": 1, "running jobs": 1, "delayed jobs": 1}
    assert leftovers(tenant, plugged) == expected
    with pytest.raises(TenantBusy, match="'acme' still has 1 waiting jobs, 1 running jobs, 1 delayed jobs"):
        tenant_delete(tenant=tenant, by="test", engine=plugged)
    tenant.refresh_from_db()
    assert not tenant.intake_closed, "a refusal leaves it as it was"


def test_a_tenant_that_somebody_has_paused_can_be_deleted_by_force(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    tenant_pause(tenant=tenant, by="somebody else", reason="incident")
    tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    assert not Tenant.objects.exists()


def test_jobs_in_a_lane_that_the_settings_no_longer_name_stand_in_the_way_too(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    plugged.scripts.set_lanes({"former": 1.0})
    plugged.scripts.enqueue(NewJob("f1", "acme", "former", "t", b'["t",null,[],{}]'))
    assert leftovers(tenant, plugged) == {"waiting jobs": 1}
    tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    assert plugged.redis.hget("rq:job:f1", "status") == b"canceled"


def test_undrained_letters_and_outbox_rows_stand_in_the_way(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    now = timezone.now()
    letter = DeadLetter.objects.create(
        job_id="j", attempt=1, tenant=tenant, tenant_slug="acme", owner="o", dead_at=now, due_at=now
    )
    outbox_row("o")
    with pytest.raises(TenantBusy, match="1 jobs in the outbox, 1 undrained dead letters") as refused:
        tenant_delete(tenant=tenant, by="test", engine=plugged)
    assert "drain its dead letters" in str(refused.value), "it tells what to do about each"
    OutboxEntry.objects.all().delete()
    DeadLetter.objects.update(state=State.RESOLVED)
    tenant_delete(tenant=tenant, by="test", engine=plugged)
    letter.refresh_from_db()
    assert (letter.tenant, letter.tenant_slug) == (None, "acme"), "the letter outlives its tenant"


def test_force_cancels_what_waits_and_deletes(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    tenant_create(slug="other", by="test")
    plugged.scripts.set_limit("stripe", 0, None)
    held = enqueue(plugged, resource="stripe")
    assert plugged.scripts.claim("s", 1, "w", list(LANES)).job is None
    waiting, delayed = enqueue(plugged), enqueue(plugged, delay_ms=60_000)
    foreign = enqueue(plugged, "other")
    tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    for job in (waiting, delayed, held):
        assert plugged.redis.hget(f"rq:job:{job}", "status") == b"canceled"
    claimed = plugged.scripts.claim("s", 2, "w", list(LANES)).job
    assert claimed is not None
    assert claimed.id == foreign


def test_force_cancels_what_is_in_the_outbox_in_the_same_transaction_and_says_so(
    plugged: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(leftover, "_listeners", [told.extend])
    tenant = tenant_create(slug="acme", by="test").tenant
    uid = str(tenant.pk)
    for name, more in {
        "waits": {"tenant_uid": uid},
        "parked": {"tenant_uid": uid, "state": "parked", "parked_as": "refused"},
        "old": {},
        "on its way": {"tenant_uid": uid, "claim_token": "t", "next_try_at": timezone.now() + timedelta(minutes=1)},
        "ended": {"tenant_uid": uid, "state": "coalesced"},
        "former owner's": {"tenant_uid": "0"},
        "other": {"tenant": "other"},
    }.items():
        outbox_row(name, **more)
    assert leftovers(tenant, plugged) == {"jobs in the outbox": 4}

    def away(slug: str) -> None:
        raise RedisConnectionError("connection refused")

    with monkeypatch.context() as patch:
        patch.setattr(plugged.scripts, "drop_policy", away)
        with pytest.raises(EngineAway):
            tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    assert not OutboxEntry.objects.filter(state="cancelled").exists(), "nor are they without the deletion"
    told.clear()
    tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    cancelled = ["old", "on its way", "parked", "waits"]
    assert sorted(OutboxEntry.objects.filter(state="cancelled").values_list("pk", flat=True)) == cancelled
    assert sorted(told) == cancelled
    row = AuditEntry.objects.get(action="tenant.cancel_jobs")
    assert (row.tenant_id, row.after) == (tenant.pk, {"cancelled": 4})


def test_a_delayed_id_that_is_no_job_does_not_stand_in_the_way(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    plugged.redis.zadd("rq:scheduler:scheduled_jobs", {"odd": 1})
    plugged.redis.set("rq:job:odd", "a key of another kind")
    enqueue(plugged)
    plugged.redis.rpush("rq:queue:acme.bulk", "odd")
    tenant_delete(tenant=tenant, by="test", engine=plugged, force=True)
    assert not Tenant.objects.exists()


@pytest.mark.parametrize("force", [False, True])
def test_without_redis_nothing_is_deleted(plugged: Engine, pusher: Recorder, force: bool) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant

    pusher.away = True
    away = Engine(connect("redis://127.0.0.1:1/0"), lanes=LANES)  # nobody listens there
    with pytest.raises(EngineAway, match="Redis could not be reached"):
        tenant_delete(tenant=tenant, by="test", engine=away, force=force)
    tenant.refresh_from_db()
    assert not tenant.intake_closed


def test_a_slug_that_is_taken_again_starts_afresh(plugged: Engine) -> None:
    first = tenant_create(slug="acme", by="test", cap=3).tenant
    tenant_delete(tenant=first, by="test", engine=plugged)
    second = tenant_create(slug="acme", by="test")
    assert second.in_force
    in_force = plugged.scripts.policy("acme")
    assert in_force is not None
    assert in_force.cap == 10
    assert push_all(plugged.scripts) == 1
