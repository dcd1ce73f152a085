"""How many letters of a group are late, and how many will be soon."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, OuterRef, Q

from dlq.capped import CountUpTo, told
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup

SOON = timedelta(minutes=10)


class Overdue(NamedTuple):
    """``late``: undrained after their due time; ``soon``: so many more within ten minutes if none is drained."""

    late: int
    soon: int


def overdue(group_ids: Collection[int], now: datetime) -> dict[int, Overdue]:
    """Group id → its numbers, for those that have any: exact, so that all that is late is read. One query."""
    letters = DeadLetter.objects.filter(group__in=group_ids, state__in=UNDRAINED, due_at__lte=now + SOON)
    counted = (
        letters.order_by().values_list("group").annotate(late=Count("id", filter=Q(due_at__lte=now)), due=Count("id"))
    )
    return {group_id: Overdue(late, total - late) for group_id, late, total in counted}


def overdue_up_to(
    most: int, group_ids: Collection[int], now: datetime, tenant_ids: Collection[int] | None = None
) -> dict[int, Overdue]:
    """The same, each counted no further than ``most`` (``dlq.capped``); of these tenants only, if they are given."""
    letters = DeadLetter.objects.filter(group=OuterRef("pk"), state__in=UNDRAINED)
    if tenant_ids is not None:
        letters = letters.filter(tenant__in=tenant_ids)
    late, soon = letters.filter(due_at__lte=now), letters.filter(due_at__gt=now, due_at__lte=now + SOON)
    groups = DeadLetterGroup.objects.filter(pk__in=group_ids).order_by()
    counted = groups.values_list("pk", CountUpTo(late, most), CountUpTo(soon, most))
    return {pk: Overdue(told(late, most), told(soon, most)) for pk, late, soon in counted if late or soon}
