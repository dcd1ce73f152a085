"""Whose rows the relay takes next: the tenants take turns, so that a flood of one holds up none of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import DEFAULT_DB_ALIAS, connections
from django.utils import timezone

from jobops.context.models import OutboxEntry, OutboxHold

TENANTS = 50
"""At most so many tenants share a batch."""

# Jumps from tenant to tenant along the index: DISTINCT would read every row of a flood. The state stands in the text,
# as SQLite takes a partial index only when it sees the condition.
_DUE_TENANTS = """
WITH RECURSIVE step (tenant) AS (
  SELECT MIN(tenant) FROM {entries} WHERE state = 'waiting' AND tenant > %s
  UNION ALL
  SELECT (SELECT MIN(later.tenant) FROM {entries} AS later WHERE later.state = 'waiting' AND later.tenant > step.tenant)
  FROM step WHERE step.tenant IS NOT NULL
)
SELECT tenant FROM step
WHERE tenant IS NOT NULL
  AND EXISTS (
    SELECT 1 FROM {entries} AS due
    WHERE due.state = 'waiting' AND due.tenant = step.tenant AND due.next_try_at <= %s
  )
  AND NOT EXISTS (SELECT 1 FROM {holds} AS hold WHERE hold.tenant = step.tenant AND hold.until > %s)
LIMIT %s
"""
# COALESCE keeps the planner from the index of due times: it would sort all rows of a flood to find its first ones.
_FIRST_ROWS = """
SELECT id FROM (
  SELECT id FROM {entries} WHERE state = 'waiting' AND tenant = %s AND COALESCE(next_try_at, next_try_at) <= %s
  ORDER BY created_at, id LIMIT %s
) AS part_{number}
"""


@dataclass(slots=True)
class Turns:
    """Remembers which tenant was last; a new one begins at the first, which is always right."""

    _after: str = ""

    def take(self, limit: int) -> list[str]:
        """The ids of up to ``limit`` due rows, as many of each tenant, its oldest first. Two queries, or three."""
        now = timezone.now()
        most = min(TENANTS, limit)
        tenants = _due_tenants(self._after, now, most)
        if len(tenants) < most and self._after:
            tenants = list(dict.fromkeys(tenants + _due_tenants("", now, most)))[:most]
        self._after = tenants[-1] if len(tenants) == most else ""
        return _first_rows(tenants, now, limit // len(tenants)) if tenants else []


def _due_tenants(after: str, now: datetime, most: int) -> list[str]:
    instant = _instant(now)
    return _column(_named(_DUE_TENANTS), [after, instant, instant, most])


def _first_rows(tenants: list[str], now: datetime, each: int) -> list[str]:
    instant = _instant(now)
    parts = [_named(_FIRST_ROWS, number) for number in range(len(tenants))]
    return _column(" UNION ALL ".join(parts), [value for slug in tenants for value in (slug, instant, each)])


def _named(query: str, number: int = 0) -> str:
    quote = connections[DEFAULT_DB_ALIAS].ops.quote_name
    entries, holds = quote(OutboxEntry._meta.db_table), quote(OutboxHold._meta.db_table)
    return query.format(entries=entries, holds=holds, number=number)


def _instant(moment: datetime) -> str | datetime | None:
    adapted: str | datetime | None = connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value(moment)
    return adapted


def _column(query: str, values: Sequence[str | int | datetime | None]) -> list[str]:
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(query, values)
        return [value for (value,) in cursor.fetchall()]
