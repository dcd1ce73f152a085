"""Reading letters that several conditions hold for, off the indexes that there are.

Each index holds one condition, the state, and an order. So one condition leads. Another names its letters by their
ids, read off its own index, where these are not too many; where they are, most letters fulfil it, and it is looked up
on the row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from django.db.models import BooleanField, Case, Q, QuerySet, Value, When

from dlq.models import DeadLetter, State

FEW = 50_000
"""So many ids are read off an index for a condition beside the leading one."""


def narrowed(
    letters: QuerySet[DeadLetter],
    states: Collection[State],
    conditions: Mapping[str, Q],
    lead: Collection[str],
    unindexed: Collection[str] = (),
) -> QuerySet[DeadLetter]:
    """Those of the letters, all of these states, that fulfil every condition.

    ``lead``: names of those that one index holds together with the order. ``unindexed``: of those that none holds.
    """
    for name, condition in conditions.items():
        if name in lead:
            letters = letters.filter(condition)
            continue
        fulfilled = DeadLetter.objects.filter(condition, state__in=states).order_by().values("pk")
        if name not in unindexed and fulfilled[: FEW + 1].count() <= FEW:
            letters = letters.filter(pk__in=fulfilled)
        else:
            letters = letters.filter(_on_the_row(condition))
    return letters


def _on_the_row(condition: Q) -> Case:
    # A plain condition might be taken to begin from, with an index that has not the order: to sort most of all letters.
    return Case(When(condition, then=Value(True)), default=Value(False), output_field=BooleanField())
