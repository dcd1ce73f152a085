"""Batches: each that is not over is looked through once a minute, so that no member is waited for in vain."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from django.db.models import Q, QuerySet
from django.utils import timezone

from jobops.batches.models import Batch
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward.batches import BatchWatch

LATE = timedelta(minutes=10)
_ROUNDS = 100


def check(site: Site) -> Iterator[Finding]:
    """Those that nobody has looked at for long: no scheduler runs, or its duty fails."""
    for batch_id, tenant, counted_at in _late().values_list("pk", "tenant", "counted_at").iterator(chunk_size=1000):
        site.looked_at["batches"] += 1
        waited = int((timezone.now() - (counted_at or timezone.now())).total_seconds() // 60)
        text = f"it is not over, and nobody has looked for its members for {waited:,} min"
        yield Finding("batch_not_looked_at", "batch", batch_id, text, tenant, partial(_look, site.engine, batch_id))


def _late() -> QuerySet[Batch]:
    waited_for = Q(state__in=(Batch.State.RUNNING, Batch.State.STUCK))
    cancelling = Q(state=Batch.State.CANCELLED, ended_at=None)
    return Batch.objects.filter(waited_for | cancelling, counted_at__lt=timezone.now() - LATE).order_by("counted_at")


def _look(engine: Engine, batch_id: str) -> str:
    watch = BatchWatch()
    for _ in range(_ROUNDS):
        if not _late().filter(pk=batch_id).exists():
            break
        watch.run(Context(engine))
    batch = Batch.objects.get(pk=batch_id)
    if _late().filter(pk=batch_id).exists():
        raise NotRepaired("it could not be looked through; see the log of the scheduler")
    return f"looked through: it is {batch.state}"
