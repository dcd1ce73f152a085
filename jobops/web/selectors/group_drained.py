"""What was drained lately: for a list in which nothing is to be drained any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from dlq.access import letters_visible_to
from tenants.access import AnyUser

WEEK = timedelta(days=7)
MOST = 10_000
"""Of what was drained in the week, so many are looked at: the newest."""


@dataclass(frozen=True, slots=True)
class Drained:
    """When a letter was last drained, and how the week's went: how many, in how long at the median, how many late."""

    last_at: datetime
    count: int
    median_s: float | None
    late: int


def drained_lately(user: AnyUser, now: datetime) -> Drained | None:
    """For a list that is empty; None if nothing was ever drained. Of very many, the newest are looked at."""
    letters = letters_visible_to(user).filter(drained_at__isnull=False).order_by("-drained_at", "-pk")
    last = letters.values_list("drained_at", flat=True).first()
    if last is None:
        return None
    week = letters.filter(drained_at__gte=now - WEEK)
    rows = list(week.values_list("dead_at", "due_at", "drained_at", "drain_s")[:MOST])
    took = [float(drain_s) if drain_s is not None else _seconds(dead, at) for dead, _, at, drain_s in rows]
    late = sum(at is not None and at > due for _, due, at, _ in rows)
    return Drained(last, len(rows), median(took) if took else None, late)


def _seconds(begin: datetime, end: datetime | None) -> float:
    return (end - begin).total_seconds() if end is not None else 0.0
