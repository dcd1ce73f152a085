"""Letting a delayed job start before its time, wherever it waits: in the outbox or in Redis."""

from __future__ import annotations

import time
from typing import Literal, TypeAlias

from django.db.models import Q
from django.utils import timezone
from redis.exceptions import RedisError

from jobops.context.models import OutboxEntry
from jobops.runtime.cancelling import IN_FLIGHT_S
from jobops.runtime.engine import get_engine

RanNow: TypeAlias = Literal["queued", "outbox", "not_found", "not_scheduled"]


def run_now(job_id: str, *, tenant: str | None = None) -> RanNow:
    """Let one job start now. With ``tenant``, another tenant's job is ``not_found``.

    Raises ``redis.RedisError`` unless the job is in the outbox, where it can be changed without Redis.
    """
    rows = OutboxEntry.objects.filter(pk=job_id, state=OutboxEntry.State.WAITING)
    if tenant is not None:
        rows = rows.filter(tenant=tenant)
    deadline = time.monotonic() + IN_FLIGHT_S
    while True:
        now = timezone.now()
        # A row that somebody is pushing at this moment keeps its instant: Redis is asked once it is there.
        idle = rows.filter(Q(claim_token="") | Q(next_try_at__lte=now), due_at_ms__gt=int(now.timestamp() * 1000))
        changed = idle.update(due_at_ms=0, next_try_at=now)
        try:
            answer = get_engine().scripts.run_now(job_id, tenant)
        except RedisError:
            if changed:
                return "outbox"
            raise
        if answer != "not_found":
            return answer
        if changed:
            return "outbox"
        if not rows.exists():
            return "not_found"
        if time.monotonic() > deadline:
            return "not_scheduled"
        if not rows.filter(due_at_ms__gt=int(now.timestamp() * 1000)).exists():
            return "not_scheduled"
        time.sleep(0.05)
