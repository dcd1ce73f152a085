"""How many letters of each state there are, from the counts that are kept with their causes: whatever their number."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Count, QuerySet, Sum

from dlq.asking import numbers_in
from dlq.filters import LetterFilter
from dlq.models import DeadLetter, DeadLetterGroup, GroupTenant, State
from tenants.models import Tenant


def kept_counts(asked: LetterFilter, scope: Sequence[int] | None) -> Mapping[State, int] | None:
    """The counts for a filter that asks for causes and a tenant at most; None for one of which none are kept.

    ``scope``: the ids of the tenants whose letters count; None: all. Three queries.
    """
    told = ("tenant", "group", "status", "overdue", "sort")
    if asked != replace(LetterFilter(), **{name: getattr(asked, name) for name in told}):
        return None
    if asked.tenant:
        named = list(Tenant.objects.filter(slug=asked.tenant).values_list("pk", flat=True))
        if not named:
            return None  # a deleted tenant's letters are in no share
        scope = named if scope is None else [pk for pk in named if pk in scope]
    ids = numbers_in(asked.group) if asked.group else None
    rows: QuerySet[Any] = _shares(scope, ids) if scope is not None else _groups(ids)
    sums = rows.order_by().aggregate(**{state.value: Sum(state.value, default=0) for state in State})
    alone = _without_cause(scope) if ids is None else {}
    return {state: sums[state.value] + alone.get(state, 0) for state in State}


def _groups(ids: Sequence[int] | None) -> QuerySet[DeadLetterGroup]:
    groups = DeadLetterGroup.objects.all()
    return groups if ids is None else groups.filter(pk__in=ids)


def _shares(tenants: Sequence[int], ids: Sequence[int] | None) -> QuerySet[GroupTenant]:
    shares = GroupTenant.objects.filter(tenant__in=tenants)
    return shares if ids is None else shares.filter(group__in=ids)


def without_cause(tenants: Collection[int] | None = None) -> QuerySet[DeadLetter]:
    """Letters without a cause yet, of these tenants or of all: few, and soon none. An index holds them alone."""
    letters = DeadLetter.objects.filter(group__isnull=True).order_by()
    if tenants is None:
        return letters
    # Named by their ids, or all letters of the tenants might be read for them.
    return DeadLetter.objects.filter(pk__in=letters.values("pk"), tenant__in=tenants).order_by()


def _without_cause(tenants: Collection[int] | None) -> dict[str, int]:
    return dict(without_cause(tenants).values_list("state").annotate(Count("pk")))
