"""What a group is told of its letters, read off the index of its letters: its due time and its sample."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup, State


def due_times(group_ids: Collection[int]) -> dict[int, datetime | None]:
    """Group id → the earliest due time of its undrained letters, in one query."""
    first = {f"{state}_due": Subquery(_of(state).order_by("due_at").values("due_at")[:1]) for state in UNDRAINED}
    rows = DeadLetterGroup.objects.filter(pk__in=group_ids).order_by().annotate(**first).values_list("pk", *first)
    return {pk: min((due for due in dues if due is not None), default=None) for pk, *dues in rows}


def samples(group_ids: Collection[int]) -> dict[int, int | None]:
    """Group id → a letter of it to look at, an undrained one if there is any, in one query."""
    found = [Subquery(_of(state).order_by("-due_at", "-id").values("pk")[:1]) for state in State]
    rows = DeadLetterGroup.objects.filter(pk__in=group_ids).order_by().annotate(found=Coalesce(*found))
    return dict(rows.values_list("pk", "found"))


def _of(state: State) -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(group=OuterRef("pk"), state=state)
