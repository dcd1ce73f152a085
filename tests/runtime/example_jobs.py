"""Job types of a process that the tests start."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from jobops import job
from tenants.models import Tenant


@job(name="tests.child", owner="tests", drain_sla="1h", idempotent="reads only", timeout="10s")
def child(slug: str) -> int:
    """How many such tenants are committed when it runs."""
    return Tenant.objects.filter(slug=slug).count()


@job(name="tests.parent", owner="tests", drain_sla="1h", idempotent="keys its children", timeout="10s")
def parent() -> list[str]:
    """Enqueues in a transaction, in one that is rolled back, with a delay, and outside of any."""
    with transaction.atomic():
        Tenant.objects.create(slug="made-by-job")
        inside = child.using(tenant="acme").enqueue("made-by-job")
    with transaction.atomic():
        child.using(tenant="acme").enqueue("never")
        transaction.set_rollback(True)
    later = child.using(tenant="acme", run_after=timedelta(milliseconds=50)).enqueue("made-by-job")
    outside = child.using(tenant="acme").enqueue("made-by-job")
    return [inside.id, later.id, outside.id]


@job(name="tests.fragile", owner="tests", drain_sla="1h", idempotent="reads only", max_attempts=1, timeout="10s")
def fragile() -> str:
    """Fails until the tenant that stands for the mended cause is there."""
    Tenant.objects.get(slug="mended")
    return "done"
