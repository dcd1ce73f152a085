"""Groups and letters at chosen places of their clocks."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlq.models import DeadLetter, DeadLetterGroup, GroupSpan
from tests.dlq.letters import unsaved


def group(**fields: Any) -> DeadLetterGroup:
    return DeadLetterGroup.objects.create(**({"fingerprint": uuid.uuid4().hex * 2, "owner": "billing"} | fields))


def letter(dead_at: datetime | None = None, sla_h: float = 4, **fields: Any) -> DeadLetter:
    """A letter whose due time is its SLA after its death."""
    dead_at = dead_at or timezone.now()
    sla = timedelta(hours=sla_h)
    terms = {"owner": "billing", "dead_at": dead_at, "due_at": dead_at + sla, "sla_s": int(sla.total_seconds())}
    made = unsaved(None, **(terms | fields))
    made.save()
    return made


def spans(it: DeadLetterGroup, rows: dict[datetime, tuple[int, int]]) -> None:
    """``rows``: when five minutes begin → deaths, drained."""
    GroupSpan.objects.bulk_create(
        GroupSpan(group=it, at=at, deaths=deaths, drained=drained) for at, (deaths, drained) in rows.items()
    )
