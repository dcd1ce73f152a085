"""What people have whose accounts are deleted: their team keeps it, and nobody has it singly any more."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet

from dlq.among import Among
from dlq.models import DeadLetter, DeadLetterGroup


def let_go(user_ids: Collection[int]) -> None:
    """Have these people's letters and causes, drained ones too, be assigned to nobody, in the caller's transaction.

    In the order in which everybody takes them: letters, then groups, each by id.
    """
    for assigned in (
        DeadLetter.objects.filter(assignee__in=user_ids),
        DeadLetterGroup.objects.filter(assignee__in=user_ids),
    ):
        _to_nobody(assigned)


def _to_nobody(assigned: QuerySet[Any]) -> None:
    locked = list(assigned.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    assigned.model._default_manager.filter(Among("pk", locked)).update(assignee=None)
