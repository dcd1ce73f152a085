"""What the scheduler repairs by itself is in the audit, and what it finds right is not."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.db.models import QuerySet

from jobops.audit import recording
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.runtime import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward import policies
from jobops.steward.policies import PolicyAudit
from jobops.steward.reconcile import Reconciler
from tenants.models import Tenant
from tests.runtime.factory import claim, new_job

pytestmark = pytest.mark.django_db(transaction=True)


def by_itself() -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(actor="scheduler")


def lose_a_lease(engine: Engine) -> str:
    enqueuer().enqueue(new_job())
    running = claim(engine)
    assert running is not None
    engine.redis.delete(f"jobops:lease:{running.id}")
    engine.redis.zrem("jobops:leases", running.id)
    return running.id


def test_a_policy_that_was_pushed_again(both: Engine) -> None:
    policies.run(Context(both))
    PolicyAudit().run(Context(both))
    assert not by_itself().exists()
    both.redis.delete("jobops:tenant:acme")
    PolicyAudit().run(Context(both))
    PolicyAudit().run(Context(both))
    entry = by_itself().get()
    assert (entry.actor, entry.actor_kind) == ("scheduler", "system")
    assert (entry.action, entry.target_id, entry.tenant_id) == ("policy.repair", "acme", Tenant.objects.get().pk)


def test_a_redis_that_was_lost(both: Engine) -> None:
    policies.run(Context(both))
    assert not by_itself().exists(), "the first one is none that was lost"
    before = both.scripts.epoch()
    both.redis.flushall()
    policies.run(Context(both))
    policies.run(Context(both))
    entry = by_itself().get()
    assert entry.action == "policies.push"
    assert entry.before == {"epoch": before}
    assert entry.after == {"epoch": both.scripts.epoch(), "pushed": 1}


def test_a_running_job_that_had_lost_its_lease(both: Engine) -> None:
    """LS-11: the audit shows why it runs again."""
    enqueuer().enqueue(new_job())
    Reconciler().run(Context(both))
    assert not by_itself().exists()
    lose_a_lease(both)
    Reconciler().run(Context(both))
    Reconciler().run(Context(both))
    entry = by_itself().get()
    assert (entry.action, entry.target_kind, entry.after) == ("queue.repair", "queue", {"recovered": 1})
    assert entry.tenant_slug == "acme"


def test_without_the_database_jobs_are_recovered_all_the_same(
    both: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(*args: object) -> None:
        raise OperationalError("the database is away")

    lost = lose_a_lease(both)
    monkeypatch.setattr(recording, "record", away)
    Reconciler().run(Context(both))
    assert "the audit does not hold that 1 job(s) of" in caplog.text
    both.scripts.promote()
    again = claim(both)
    assert again is not None
    assert again.id == lost
