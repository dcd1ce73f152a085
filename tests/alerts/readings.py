"""What the signals read of a real Redis and a real database."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlq.models import DeadLetterGroup
from jobops.alerts.evaluating import look
from jobops.alerts.judging import Judged, Look
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters


def seen(engine: Engine, *signals: str, now: datetime | None = None) -> Look:
    return look(engine, now or timezone.now(), only=signals)


def read(engine: Engine, signal: str, now: datetime | None = None) -> dict[str, Judged]:
    """Subject → what was read of it. The signal must be readable."""
    found = seen(engine, signal, now=now)
    assert not found.unread
    for each in found.judged.values():
        parts = {part for part, value in each.reading.scope.items() if value not in ("", None)}
        assert not parts or any(parts <= scope for scope in each.signal.parts), "rules and silences would be refused"
    return {each.reading.subject: each for each in found.judged.values()}


def over(engine: Engine, signal: str, now: datetime | None = None) -> list[str]:
    """The subjects that are over their thresholds."""
    return sorted(each.reading.subject for each in seen(engine, signal, now=now).over)


def cause(count: int = 1, *, tenant: Tenant | None = None, due_in_s: float = 3600, **fields: Any) -> DeadLetterGroup:
    """A group with as many open letters as its counts say, all due at once; letters need a tenant."""
    now = timezone.now()
    due_at = now + timedelta(seconds=due_in_s)
    usual = {"title": "payment provider answered 503", "job_type": "tests.echo", "error_class": "ValueError"}
    usual |= {"owner": "payments", "open": count, "deaths": count, "tenants": 1, "due_at": due_at}
    number = DeadLetterGroup.objects.count()
    group = DeadLetterGroup.objects.create(fingerprint=f"{number:064}", **(usual | fields))
    if tenant is not None:
        letters(tenant, count, group=group, due_at=due_at, sla_s=3600, owner="payments")
    return group
