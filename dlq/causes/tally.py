"""What a change of letters changes in the counts of their groups, added up before anything is written. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from dlq.models import UNDRAINED, DeadLetter

SPAN_MIN = 5
"""Minutes of a span. (All zones are off by a multiple of it.)"""


@dataclass(slots=True)
class Delta:
    """How the counts of a group, or of a tenant's share of one, change. ``counts``: by state, ``purged``, ``deaths``.

    ``first`` and ``last``: instants between which something of it died.
    """

    counts: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None

    def see(self, at: datetime) -> None:
        """Something of it died at this instant."""
        if self.first is None or at < self.first:
            self.first = at
        if self.last is None or at > self.last:
            self.last = at


@dataclass(slots=True)
class GroupDelta(Delta):
    """How a group changes. ``entered_due``: the earliest due time of letters that became undrained; ``left_due``: of
    those that are no longer. ``newest``: instant and letter of its newest death. ``gone``: letters that left it.
    ``entered``: a letter that entered it, if possible one that no person decided about."""

    entered_due: datetime | None = None
    left_due: datetime | None = None
    newest: tuple[datetime, int] | None = None
    gone: set[int] = field(default_factory=set)
    entered: DeadLetter | None = None


@dataclass(slots=True)
class Tally:
    """Counts by group, by group and tenant, and by group and five minutes. Letters without a group are left out."""

    groups: dict[int, GroupDelta] = field(default_factory=dict)
    shares: dict[tuple[int, int], Delta] = field(default_factory=dict)
    spans: dict[tuple[int, datetime], Counter[str]] = field(default_factory=dict)

    def died(self, letter: DeadLetter, at: datetime, deaths: int = 1) -> None:
        """The letter's job died at this instant, of the cause that is the letter's group."""
        if letter.group_id is None or deaths <= 0:
            return
        for delta in self._both(letter, letter.group_id):
            delta.counts["deaths"] += deaths
            delta.see(at)
        group = self.groups[letter.group_id]
        if group.newest is None or (at, letter.pk) > group.newest:
            group.newest = (at, letter.pk)
        self._span(letter.group_id, at)["deaths"] += deaths

    def enter(self, letter: DeadLetter, state: str) -> None:
        """The letter is in its group in this state now."""
        if letter.group_id is None:
            return
        for delta in self._both(letter, letter.group_id):
            delta.counts[state] += 1
        group = self.groups[letter.group_id]
        if group.entered is None or (group.entered.by_hand and not letter.by_hand):
            group.entered = letter
        if state in UNDRAINED and (group.entered_due is None or letter.due_at < group.entered_due):
            group.entered_due = letter.due_at

    def leave(self, letter: DeadLetter, group_id: int | None, state: str, due_at: datetime) -> None:
        """The letter, which was due then, is no longer in this group in this state."""
        if group_id is None:
            return
        for delta in self._both(letter, group_id):
            delta.counts[state] -= 1
        group = self.groups[group_id]
        if state in UNDRAINED and (group.left_due is None or due_at < group.left_due):
            group.left_due = due_at
        if group_id != letter.group_id:
            group.gone.add(letter.pk)

    def move(self, letter: DeadLetter, before: str) -> None:
        """The letter, which was in this state, is in its group in another one now."""
        if letter.group_id is None:
            return
        for delta in self._both(letter, letter.group_id):
            delta.counts[before] -= 1
            delta.counts[letter.state] += 1
        # Between two undrained states its due time stays with the group.
        was, group = before in UNDRAINED, self.groups[letter.group_id]
        if was and letter.state not in UNDRAINED:
            group.left_due = letter.due_at if group.left_due is None else min(group.left_due, letter.due_at)
        elif not was and letter.state in UNDRAINED:
            group.entered_due = letter.due_at if group.entered_due is None else min(group.entered_due, letter.due_at)

    def drained(self, group_id: int | None, at: datetime) -> None:
        """A letter of the group was drained at this instant."""
        if group_id is not None:
            self._span(group_id, at)["drained"] += 1

    def purged(self, letter: DeadLetter) -> None:
        """The letter, which had left its state, is deleted."""
        if letter.group_id is None:
            return
        for delta in self._both(letter, letter.group_id):
            delta.counts["purged"] += 1
        self.groups[letter.group_id].gone.add(letter.pk)

    def _both(self, letter: DeadLetter, group_id: int) -> tuple[Delta, ...]:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = GroupDelta()
        if letter.tenant_id is None:
            return (group,)
        place = (group_id, letter.tenant_id)
        share = self.shares.get(place)
        if share is None:
            share = self.shares[place] = Delta()
        return group, share

    def _span(self, group_id: int, at: datetime) -> Counter[str]:
        place = (group_id, span_of(at))
        span = self.spans.get(place)
        if span is None:
            span = self.spans[place] = Counter()
        return span


def span_of(at: datetime) -> datetime:
    """When the five minutes begin that the instant is in."""
    return at.replace(minute=at.minute - at.minute % SPAN_MIN, second=0, microsecond=0)
