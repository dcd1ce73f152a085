"""The outbox: nothing in it waits for a person, and nothing waits for longer than a push takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from django.db.models import Count, Min, QuerySet
from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.runtime.memory import memory_guard
from jobops.scheduling.duties import Context
from jobops.steward.relay import Relay

LATE = timedelta(seconds=60)
_ROUNDS = 1000

_WHAT_TO_DO = {
    OutboxEntry.Parked.REFUSED: "Redis refused it again and again",
    OutboxEntry.Parked.OUTCOME_UNKNOWN: "it was pushed over a day ago, and nobody knows whether it ran",
}


def check(site: Site) -> Iterator[Finding]:
    """Parked rows, each of which a person must decide, and rows that should have been pushed long ago."""
    parked = OutboxEntry.objects.filter(state=OutboxEntry.State.PARKED).order_by("created_at", "pk")
    for job_id, tenant, why in parked.values_list("pk", "tenant", "parked_as").iterator(chunk_size=1000):
        told = _WHAT_TO_DO.get(OutboxEntry.Parked(why), why) if why else "it is parked"
        text = f"{told}: `manage.py jobs unpark {job_id}` pushes it (again), `jobs cancel {job_id}` gives it up"
        yield Finding("outbox_parked", "job", job_id, text, tenant)
    if memory_guard().is_tight():
        return  # all rows wait, and rightly: the setup of Redis tells
    for tenant, count, oldest_at in _late().values_list("tenant").annotate(Count("pk"), Min("created_at")):
        waited = int((timezone.now() - oldest_at).total_seconds())
        text = f"{count:,} of its jobs wait in the outbox, the oldest for {waited:,} s, and nobody pushes them"
        yield Finding("outbox_late", "tenant", tenant, text, tenant, partial(_push, site.engine, tenant))


def _late() -> QuerySet[OutboxEntry]:
    """A tenant that Redis has no room for is on hold, and its rows wait rightly."""
    now = timezone.now()
    held = OutboxHold.objects.filter(until__gt=now - LATE).values("tenant")
    rows = OutboxEntry.objects.filter(state=OutboxEntry.State.WAITING, next_try_at__lt=now - LATE)
    return rows.exclude(tenant__in=held).order_by("tenant")


def _push(engine: Engine, tenant: str) -> str:
    before = _late().filter(tenant=tenant).count()
    if not before:
        return ""
    relay = Relay()
    for _ in range(_ROUNDS):
        if not relay.run(Context(engine)) or not _late().filter(tenant=tenant).exists():
            break
    if left := _late().filter(tenant=tenant).count():
        raise NotRepaired(f"{left:,} of them are not pushed; see the log of the scheduler")
    return f"{before:,} rows pushed, or refused for a reason that they tell"
