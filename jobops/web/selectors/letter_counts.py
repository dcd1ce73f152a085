"""How many letters stand behind each tab of the list, and how many match what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from dlq.filters import ALL_STATUS, UNDRAINED_STATUS, LetterFilter
from dlq.models import DeadLetter, State
from dlq.searching import Search, search
from jobops.web.formats import number

CAP = 10_000
"""What nobody has to deal with any more is counted this far."""

SEARCH_CAP = 1_000
"""A search with many hits is counted this far."""

OVERDUE = "overdue"


@dataclass(frozen=True, slots=True)
class Found:
    """So many; ``more``: counting stopped there."""

    count: int
    more: bool = False

    def __str__(self) -> str:
        return f"{number(self.count)}+" if self.more else number(self.count)

    def __bool__(self) -> bool:
        return self.count > 0


@dataclass(frozen=True, slots=True)
class Counts:
    """``here``: what matches. ``by_tab``: of each tab with the same filters otherwise, where that is quickly told."""

    here: Found
    by_tab: Mapping[str, Found] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """A filter whose search is done: once, for the counts and for the page. ``many``: a search with too many hits to
    name them; ``letters`` are those that it found otherwise."""

    filter: LetterFilter
    letters: QuerySet[DeadLetter]
    many: Search | None = None

    def parts(self) -> list[QuerySet[DeadLetter]]:
        """What is meant, one queryset for each state."""
        parts = self.filter.parts(self.letters)
        return [self.many.in_order(part) for part in parts] if self.many else parts


def searched(letters: QuerySet[DeadLetter], asked: LetterFilter) -> Asked:
    """Look for what the filter searches, if anything, among all letters: one query."""
    found = search(asked.q)
    rest = replace(asked, q="")
    if found is None or found.few is None:
        return Asked(rest, letters, found)
    return Asked(rest, letters.filter(pk__in=found.few))


def tab_of(asked: LetterFilter) -> str:
    """The tab that this filter stands on."""
    return OVERDUE if asked.overdue and asked.status == UNDRAINED_STATUS else asked.status


def at_tab(asked: LetterFilter, tab: str) -> LetterFilter:
    """The same filter on another tab; what is drained comes newest first, what is not by its deadline."""
    if tab == OVERDUE:
        return replace(asked, status=UNDRAINED_STATUS, overdue=True, sort="due")
    newest = tab in (State.RESOLVED, State.DISCARDED)
    return replace(asked, status=tab, overdue=False, sort="newest" if newest else "due")


def counts_of(done: Asked, now: datetime) -> Counts:
    """Counts in a constant number of queries, each read off an index."""
    letters, asked = done.letters, done.filter
    if done.many:
        return Counts(_capped(done.many.in_order(asked.apply(letters)), SEARCH_CAP))
    # In the other order the age leads, and is counted off its index; which of those are late that index does not say.
    by_age = asked.older_than is not None
    undrained = replace(at_tab(asked, UNDRAINED_STATUS), sort="newest" if by_age else "due").apply(letters)
    late = {} if by_age else {"late": Count("pk", filter=Q(due_at__lte=now))}
    sums = undrained.order_by().aggregate(n=Count("pk"), replaying=Count("pk", filter=Q(state=State.REPLAYING)), **late)
    by_tab = {
        UNDRAINED_STATUS: Found(sums["n"]),
        State.REPLAYING.value: Found(sums["replaying"]),
        **{
            state.value: _capped(at_tab(asked, state).apply(letters), CAP)
            for state in (State.RESOLVED, State.DISCARDED)
        },
    }
    if not by_age:
        by_tab[OVERDUE] = Found(sums["late"])
    return Counts(_here(done, by_tab), by_tab)


def _here(done: Asked, by_tab: Mapping[str, Found]) -> Found:
    """What matches: most often that is counted already."""
    asked, tab = done.filter, tab_of(done.filter)
    if tab in by_tab:
        return by_tab[tab]
    if tab == State.OPEN and not asked.overdue:
        return Found(by_tab[UNDRAINED_STATUS].count - by_tab[State.REPLAYING.value].count)
    if tab == ALL_STATUS and not asked.overdue:
        each = [by_tab[name] for name in (UNDRAINED_STATUS, State.RESOLVED.value, State.DISCARDED.value)]
        return Found(sum(found.count for found in each), any(found.more for found in each))
    return _capped(asked.apply(done.letters), CAP)


def _capped(letters: QuerySet[DeadLetter], cap: int) -> Found:
    count = letters.order_by().values("pk")[: cap + 1].count()
    return Found(min(count, cap), count > cap)
