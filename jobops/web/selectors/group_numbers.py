"""The numbers of causes as a person sees them: of all tenants, or of some of them only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Min, QuerySet, Sum

from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup, GroupSpan, GroupTenant

CHART_SPAN = timedelta(minutes=10)
CHART_COLUMNS = 36


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a person has of a cause. ``newest``: an undrained letter, to show where the cause is not theirs to read."""

    undrained: int
    replaying: int
    total: int
    tenants: int
    first_at: datetime
    last_at: datetime
    due_at: datetime | None
    newest: int | None = None


def numbers_of(group: DeadLetterGroup) -> Numbers:
    """Those of all tenants, as they are kept with the cause."""
    return Numbers(
        group.undrained,
        group.replaying,
        group.total,
        group.tenants,
        group.first_seen_at,
        group.last_seen_at,
        group.due_at,
    )


def own_numbers(tenants: Collection[int], group_ids: Collection[int] | None = None) -> dict[int, Numbers]:
    """Cause → what these tenants have of it, for each that they ever had a letter of. Two queries."""
    shares = GroupTenant.objects.filter(tenant__in=tenants)
    letters = DeadLetter.objects.filter(tenant__in=tenants, state__in=UNDRAINED)
    if group_ids is not None:
        shares, letters = shares.filter(group__in=group_ids), letters.filter(group__in=group_ids)
    rows = shares.order_by().values("group").annotate(
        undrained=Sum(F("open") + F("replaying")),
        again=Sum("replaying"),
        total=Sum(F("open") + F("replaying") + F("resolved") + F("discarded") + F("purged")),
        hit=Count("tenant"),
        first=Min("first_seen_at"),
        last=Max("last_seen_at"),
    )  # fmt: skip
    undrained = _undrained(letters)
    return {row["group"]: _own(row, undrained.get(row["group"], {})) for row in rows}


def _undrained(letters: QuerySet[DeadLetter]) -> dict[int | None, dict[str, Any]]:
    # Off the index of their tenants, which have few letters beside all those of a cause.
    rows = letters.order_by().values("group").annotate(due=Min("due_at"), newest=Max("pk"))
    return {row["group"]: dict(row) for row in rows}


def _own(row: Mapping[str, Any], letters: Mapping[str, Any]) -> Numbers:
    return Numbers(
        row["undrained"],
        row["again"],
        row["total"],
        row["hit"],
        row["first"],
        row["last"],
        letters.get("due"),
        newest=letters.get("newest"),
    )


def deaths_by_ten_minutes(group_ids: Sequence[int], now: datetime) -> dict[int, list[int]]:
    """Cause → its deaths in each ten minutes of the last six hours, the oldest first. One query."""
    first = _chart_begin(now)
    spans = GroupSpan.objects.filter(group__in=group_ids, at__gte=first, deaths__gt=0)
    found: dict[int, list[int]] = {}
    for group_id, at, deaths in spans.order_by().values_list("group", "at", "deaths"):
        place = int((at - first) / CHART_SPAN)
        if 0 <= place < CHART_COLUMNS:
            found.setdefault(group_id, [0] * CHART_COLUMNS)[place] += deaths
    return found


def _chart_begin(now: datetime) -> datetime:
    last = now.replace(minute=now.minute - now.minute % 10, second=0, microsecond=0)
    return last - CHART_SPAN * (CHART_COLUMNS - 1)
