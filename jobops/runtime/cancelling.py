"""Cancelling a job before it runs (again), wherever it waits: in the outbox or in Redis."""

from __future__ import annotations

import time

from django.db.models import QuerySet

from jobops.context import outbox_rows
from jobops.context.models import OutboxEntry
from jobops.engine.records import Cancelled
from jobops.runtime.engine import get_engine

IN_FLIGHT_S = 3.0
"""How long to wait for a row that another process is pushing at this moment."""


def cancel(job_id: str, *, tenant: str | None = None) -> Cancelled:
    """Cancel one job. With ``tenant``, another tenant's job is ``not_found``. Raises ``redis.RedisError``."""
    rows = OutboxEntry.objects.filter(pk=job_id)
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    deadline = time.monotonic() + IN_FLIGHT_S
    while True:
        # A row may have been pushed although nobody noted it: Redis is asked as well.
        taken_back = outbox_rows.cancel(rows)
        answer = get_engine().scripts.cancel(job_id, tenant)
        if taken_back and answer == "not_found":
            return "cancelled"
        if answer != "not_found" or not _on_its_way(rows) or time.monotonic() > deadline:
            return answer
        time.sleep(0.05)


def cancel_key(tenant: str, job_type: str, key: str) -> tuple[Cancelled, str]:
    """Cancel the tenant's waiting or delayed job of this type and key; answers its id too. Raises as ``cancel``."""
    rows = OutboxEntry.objects.filter(tenant=tenant, job_type=job_type, key=key).exclude(
        state__in=[OutboxEntry.State.COALESCED, OutboxEntry.State.CANCELLED]
    )
    ids = list(rows.values_list("pk", flat=True))
    outcomes = [(cancel(job_id, tenant=tenant), job_id) for job_id in ids]
    answer, job_id = get_engine().scripts.cancel_key(tenant, job_type, key)
    cancelled = [(outcome, each) for outcome, each in outcomes if outcome == "cancelled"]
    if answer == "not_found" and cancelled:
        return cancelled[0]
    return answer, job_id


def _on_its_way(rows: QuerySet[OutboxEntry]) -> bool:
    return rows.filter(state=OutboxEntry.State.WAITING).exists()
