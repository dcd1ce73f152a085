"""Proving the counts of groups against their letters.

Each portion of groups is read with its shares and its letters in one statement, which sees all three at one instant:
what is counted while others work is right or wrong as it was then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, CharField, Count, DateTimeField, F, Max, Min, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup, GroupTenant, State

PORTION = 100
STATES = tuple(str(state) for state in State)


@dataclass(frozen=True, slots=True)
class Difference:
    """One number of a group that is not what its letters say. ``what``: the field, of the group or, with a tenant's
    id, of its share; ``counted``: what is kept; ``right``: what it should be."""

    group_id: int
    what: str
    counted: Any
    right: Any
    tenant_id: int | None = None

    def __str__(self) -> str:
        whose = f", tenant {self.tenant_id}" if self.tenant_id is not None else ""
        return f"group {self.group_id}{whose}: {self.what} is {self.counted}, and should be {self.right}"


@dataclass(slots=True)
class Side:
    """What is kept of a group, or what its letters say: ``whole`` and the shares by tenant, by state."""

    counts: dict[int | None, dict[str, int]] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))
    due_at: datetime | None = None
    last: datetime | None = None
    first: datetime | None = None
    letters: int = 0


@dataclass(slots=True)
class Facts:
    """Of one group: what is kept, and what its letters say."""

    kept: Side = field(default_factory=Side)
    told: Side = field(default_factory=Side)
    state: str = ""
    deaths: int = 0
    purged: int = 0
    tenants: int = 0


def differences(after: int = 0) -> Iterator[Difference]:
    """All that is not as it should be, group by group from the one after this id."""
    while ids := list(
        DeadLetterGroup.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:PORTION]
    ):
        yield from differences_of(ids)
        after = ids[-1]


def differences_of(group_ids: Collection[int]) -> list[Difference]:
    """What is not as it should be of these groups. One statement."""
    found = read(group_ids)
    return [difference for group_id in sorted(found) for difference in compare(group_id, found[group_id])]


def compare(group_id: int, facts: Facts) -> Iterator[Difference]:
    """What of the facts differs."""
    yield from _of_group(group_id, facts)
    for tenant_id in sorted({each for each in (*facts.kept.counts, *facts.told.counts) if each is not None}):
        was, right = facts.kept.counts.get(tenant_id, {}), facts.told.counts.get(tenant_id, {})
        for state in STATES:
            if was.get(state, 0) != right.get(state, 0):
                yield Difference(group_id, state, was.get(state, 0), right.get(state, 0), tenant_id)


def _of_group(group_id: int, facts: Facts) -> Iterator[Difference]:
    kept, told = facts.kept, facts.told
    numbers: list[tuple[str, Any, Any]] = [(state, kept.total[state], told.total[state]) for state in STATES]
    numbers.append(("due_at", kept.due_at, told.due_at))
    # Of deaths, and of the tenants that were ever hit, letters that are gone or went to another cause tell no more:
    # these may be more than what is seen, and not less.
    numbers.append(("deaths", facts.deaths, max(facts.deaths, told.letters + facts.purged)))
    numbers.append(("tenants", facts.tenants, max(facts.tenants, len(kept.counts))))
    if kept.first and kept.last and told.first and told.last:
        numbers.append(("first_seen_at", kept.first, min(kept.first, told.first)))
        numbers.append(("last_seen_at", kept.last, max(kept.last, told.last)))
    yield from (Difference(group_id, what, was, right) for what, was, right in numbers if was != right)
    undrained = any(told.total[state] for state in UNDRAINED)
    if undrained == (facts.state == DeadLetterGroup.State.DRAINED):
        yield Difference(group_id, "state", facts.state, "active" if undrained else "drained")


def read(group_ids: Collection[int]) -> dict[int, Facts]:
    """The facts of these groups, of one instant."""
    rows = _groups(group_ids).union(_shares(group_ids), _letters(group_ids), all=True)
    found: dict[int, Facts] = defaultdict(Facts)
    for kind, group_id, tenant_id, *numbers in rows:
        facts, counts = found[group_id], dict(zip(STATES, numbers[:4], strict=True))
        purged, deaths, tenants, due_at, first, last, state = numbers[4:]
        if kind == "group":
            facts.kept.total, facts.kept.due_at, facts.kept.first, facts.kept.last = counts, due_at, first, last
            facts.purged, facts.deaths, facts.tenants, facts.state = purged, deaths, tenants, state
        elif kind == "share":
            facts.kept.counts[tenant_id] = counts
        else:
            _add(facts.told, tenant_id, counts, due_at, first, last)
    return dict(found)


def _add(
    told: Side, tenant_id: int | None, counts: dict[str, int], due_at: datetime | None, first: datetime, last: datetime
) -> None:
    told.counts[tenant_id] = counts
    for state, count in counts.items():
        told.total[state] += count
        told.letters += count
    told.due_at = min((each for each in (told.due_at, due_at) if each is not None), default=None)
    told.first = first if told.first is None else min(told.first, first)
    told.last = last if told.last is None else max(told.last, last)


_COLUMNS = (
    "kind", "group_", "tenant_", "open_", "replaying_", "resolved_", "discarded_", "purged_", "deaths_", "tenants_",
    "due_", "first_", "last_", "state_",
)  # fmt: skip
_NO_NUMBER = Value(0, BigIntegerField())


def _groups(ids: Collection[int]) -> QuerySet[Any, tuple[Any, ...]]:
    groups = DeadLetterGroup.objects.filter(pk__in=ids).order_by()
    return groups.annotate(
        **_named("group", F("pk"), Value(None, BigIntegerField())),
        **{f"{state}_": F(state) for state in STATES},
        purged_=F("purged"),
        deaths_=F("deaths"),
        tenants_=F("tenants"),
        due_=F("due_at"),
        first_=F("first_seen_at"),
        last_=F("last_seen_at"),
        state_=F("state"),
    ).values_list(*_COLUMNS)


def _shares(ids: Collection[int]) -> QuerySet[Any, tuple[Any, ...]]:
    shares = GroupTenant.objects.filter(group__in=ids).order_by()
    return shares.annotate(
        **_named("share", F("group_id"), F("tenant_id")),
        **{f"{state}_": F(state) for state in STATES},
        purged_=F("purged"),
        deaths_=F("deaths"),
        tenants_=_NO_NUMBER,
        due_=Value(None, DateTimeField()),
        first_=F("first_seen_at"),
        last_=F("last_seen_at"),
        state_=Value("", CharField()),
    ).values_list(*_COLUMNS)


def _letters(ids: Collection[int]) -> QuerySet[Any, tuple[Any, ...]]:
    letters = DeadLetter.objects.filter(group__in=ids).order_by().values("group_id", "tenant_id")
    died = Coalesce("last_died_at", "dead_at")
    return letters.annotate(
        **_named("letter", F("group_id"), F("tenant_id")),
        **{f"{state}_": Count("pk", filter=Q(state=state)) for state in STATES},
        purged_=_NO_NUMBER,
        deaths_=_NO_NUMBER,
        tenants_=_NO_NUMBER,
        due_=Min("due_at", filter=Q(state__in=UNDRAINED)),
        first_=Min(died),
        last_=Max(died),
        state_=Value("", CharField()),
    ).values_list(*_COLUMNS)


def _named(kind: str, group_id: Any, tenant_id: Any) -> dict[str, Any]:
    return {
        "kind": Value(kind, CharField()),
        "group_": Cast(group_id, BigIntegerField()),
        "tenant_": Cast(tenant_id, BigIntegerField()),
    }
