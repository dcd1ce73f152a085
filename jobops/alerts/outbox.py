"""The outbox as the alerts see it: whether anything in it waits that should not have to."""

from __future__ import annotations

import time
from datetime import datetime

from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold

PARKED_KEEP_S = 30.0
MOST_COUNTED = 10_000
"""Parked rows are found by reading the whole outbox: not more often than that, and not beyond so many."""

# Jumps from tenant to tenant along the index, and reads the first row of each. The state stands in the text, as SQLite
# takes a partial index only when it sees the condition.
_FIRST_OF_EACH = """
WITH RECURSIVE step (tenant) AS (
  SELECT MIN(tenant) FROM jobops_outboxentry WHERE state = 'waiting'
  UNION ALL
  SELECT (SELECT MIN(later.tenant) FROM jobops_outboxentry AS later
          WHERE later.state = 'waiting' AND later.tenant > step.tenant)
  FROM step WHERE step.tenant IS NOT NULL
)
SELECT tenant AS id, tenant, (
  SELECT MIN(entry.next_try_at) FROM jobops_outboxentry AS entry
  WHERE entry.state = 'waiting' AND entry.tenant = step.tenant
) AS next_try_at
FROM step WHERE tenant IS NOT NULL
"""

_parked: tuple[float, int] | None = None


def first_due() -> tuple[str, datetime | None]:
    """The tenant whose row should have been pushed first, and since when; rows that are not due yet do not count, nor
    those of tenants that Redis has no room for. Two queries."""
    now = timezone.now()
    held = set(OutboxHold.objects.filter(until__gt=now).values_list("tenant", flat=True))
    rows = [(row.next_try_at, row.tenant) for row in OutboxEntry.objects.raw(_FIRST_OF_EACH)]
    late = [(at, tenant) for at, tenant in rows if at is not None and at <= now and tenant not in held]
    at, tenant = min(late, default=(None, ""))
    return tenant, at


def parked() -> int:
    """Rows that nobody pushes until a person decides, at most ``MOST_COUNTED``; some seconds old."""
    global _parked
    if _parked is None or time.monotonic() - _parked[0] >= PARKED_KEEP_S:
        rows = OutboxEntry.objects.filter(state=OutboxEntry.State.PARKED).order_by()
        _parked = (time.monotonic(), rows[:MOST_COUNTED].count())
    return _parked[1]


def forget() -> None:
    """Count anew at the next call."""
    global _parked
    _parked = None
