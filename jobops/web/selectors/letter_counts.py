"""How many letters stand behind each tab of the list, and how many match what is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import QuerySet

from dlq.capped import AtLeast, count_up_to
from dlq.filters import ALL_STATUS, UNDRAINED_STATUS, LetterFilter
from dlq.models import UNDRAINED, DeadLetter, State
from dlq.searching import Search, search
from jobops.web.formats import number
from jobops.web.selectors.letter_kept import kept_counts

CAP = 10_000
"""What no count is kept of is counted this far."""

SEARCH_CAP = 1_000
"""What is counted row by row is counted this far: a search with many hits, conditions that no index holds together."""

OVERDUE = "overdue"
COUNTED_TABS = (UNDRAINED_STATUS, State.REPLAYING.value, State.RESOLVED.value, State.DISCARDED.value)


@dataclass(frozen=True, slots=True)
class Found:
    """So many; ``more``: counting stopped there."""

    count: int

    @property
    def more(self) -> bool:
        return isinstance(self.count, AtLeast)

    def __str__(self) -> str:
        return number(self.count)

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
    name them; ``letters`` are those that it found otherwise (``is_search``: there was something to search).
    ``since``: the id of the letter from which on was searched; None: in all of them."""

    filter: LetterFilter
    letters: QuerySet[DeadLetter]
    many: Search | None = None
    is_search: bool = False
    since: int | None = None

    def parts(self) -> list[QuerySet[DeadLetter]]:
        """What is meant, one queryset for each state."""
        parts = self.filter.parts(self.letters)
        return [self.many.in_order(part) for part in parts] if self.many else parts


def searched(letters: QuerySet[DeadLetter], asked: LetterFilter) -> Asked:
    """Look for what the filter searches, if anything, among all letters."""
    found = search(asked.q, deep=asked.deep)
    rest = replace(asked, q="", deep=False)
    if found is None:
        return Asked(rest, letters)
    if found.few is None:
        return Asked(rest, letters, found, True, found.since)
    return Asked(rest, letters.filter(pk__in=found.few), None, True, found.since)


def tab_of(asked: LetterFilter) -> str:
    """The tab that this filter stands on."""
    return OVERDUE if asked.overdue and asked.status == UNDRAINED_STATUS else asked.status


def at_tab(asked: LetterFilter, tab: str) -> LetterFilter:
    """The same filter on another tab; what is drained comes newest first, what is not by its deadline."""
    if tab == OVERDUE:
        return replace(asked, status=UNDRAINED_STATUS, overdue=True, sort="due")
    newest = tab in (State.RESOLVED, State.DISCARDED)
    return replace(asked, status=tab, overdue=False, sort="newest" if newest else "due")


def counts_of(done: Asked, scope: Sequence[int] | None) -> Counts:
    """Counts in a constant number of queries: those that are kept, or read off an index and no further than ``CAP``.

    ``scope``: the ids of the tenants whose letters these are; None: of all.
    """
    letters, asked = done.letters, done.filter
    if done.many:
        return Counts(_found(done.many.in_order(asked.apply(letters)), SEARCH_CAP))
    if not asked.is_counted:
        return Counts(_found(asked.apply(letters), SEARCH_CAP))
    kept = None if done.is_search else kept_counts(asked, scope)
    by_tab = _kept_tabs(kept) if kept is not None else {tab: _at(done, tab) for tab in COUNTED_TABS}
    if asked.older_than is None:
        # Which of the old ones are late no index says.
        by_tab[OVERDUE] = _at(done, OVERDUE)
    return Counts(_here(done, by_tab), by_tab)


def _kept_tabs(kept: Mapping[State, int]) -> dict[str, Found]:
    each = {state.value: Found(kept[state]) for state in (State.REPLAYING, State.RESOLVED, State.DISCARDED)}
    return {UNDRAINED_STATUS: Found(sum(kept[state] for state in UNDRAINED)), **each}


def _here(done: Asked, by_tab: Mapping[str, Found]) -> Found:
    """What matches: most often that is counted already."""
    asked, tab = done.filter, tab_of(done.filter)
    if tab in by_tab:
        return by_tab[tab]
    undrained = by_tab[UNDRAINED_STATUS]
    if tab == State.OPEN and not asked.overdue and not undrained.more:
        return Found(undrained.count - by_tab[State.REPLAYING.value].count)
    if tab == ALL_STATUS and not asked.overdue:
        each = [by_tab[name] for name in (UNDRAINED_STATUS, State.RESOLVED.value, State.DISCARDED.value)]
        total, more = sum(found.count for found in each), any(found.more for found in each)
        return Found(AtLeast(total) if more else total)
    return _found(asked.apply(done.letters), CAP)


def _at(done: Asked, tab: str) -> Found:
    at = at_tab(done.filter, tab)
    # The age leads in this order alone.
    return _found(replace(at, sort="newest" if at.older_than is not None else "due").apply(done.letters), CAP)


def _found(letters: QuerySet[DeadLetter], cap: int) -> Found:
    return Found(count_up_to(letters, cap))
