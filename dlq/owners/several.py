"""Causes whose letters are of more teams than one: a rule may tell tenants apart, or a person have handed one on.

Looked for among the letters that are due first, so that a cause of a hundred thousand costs no more than one of a
hundred: what this answers may be less than there is, and is never wrong.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import NullIf

from dlq.models import DeadLetter, DeadLetterGroup, State

LOOKED_AT = 100
LOOKED_AT_OF_ONE = 2_000


def other_teams(group_ids: Collection[int], tenant_ids: Collection[int] | None = None) -> dict[int, int]:
    """Group → how many teams other than its own have letters of it that are open; only those that have. One query.

    ``tenant_ids``: look at their letters only.
    """
    first = _open(tenant_ids).filter(group=OuterRef("pk")).order_by("due_at", "pk")
    others = first.values(other=NullIf("owner", OuterRef("owner")))[:LOOKED_AT]
    groups = DeadLetterGroup.objects.filter(pk__in=group_ids).order_by("pk").annotate(teams=_Different(others))
    return {pk: count for pk, count in groups.values_list("pk", "teams") if count}


def names_of_others(group: DeadLetterGroup, tenant_ids: Collection[int] | None = None) -> list[str]:
    """The teams other than its own that have open letters of the group, by name. One query."""
    first = _open(tenant_ids).filter(group=group).order_by("due_at", "pk")[:LOOKED_AT_OF_ONE]
    return sorted(set(first.values_list("owner", flat=True)) - {group.owner})


class _Different(Subquery):
    """How many different values of ``other`` a query answers.

    Counted over the very rows that it answers, and not over those whose ids are among them: until a database has
    gathered its statistics again after a burst of deaths, it takes those few for none, and would look for them
    anew for each letter of the group.
    """

    template = "(SELECT COUNT(DISTINCT other) FROM (%(subquery)s) AS looked_at)"
    output_field = IntegerField()


def _open(tenant_ids: Collection[int] | None) -> QuerySet[DeadLetter]:
    letters = DeadLetter.objects.filter(state=State.OPEN)
    return letters if tenant_ids is None else letters.filter(tenant__in=tenant_ids)
