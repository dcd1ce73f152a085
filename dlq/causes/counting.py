"""Keeping the counts of groups true: each of these is called in the transaction that changes the letters, after them.

Lock order: letters by id, then groups by id, last and shortly. Call one of these once in a transaction, with all
its letters: groups that are taken in two turns would be taken in no order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from django.utils import timezone

from dlq.causes.finding import attach
from dlq.causes.keeping import write
from dlq.causes.lookups import due_times
from dlq.causes.tally import Tally
from dlq.locking import lock_groups
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup
from dlq.rows import update_rows

__all__ = [
    "attach",
    "count_adopted",
    "count_deaths_again",
    "count_ends",
    "count_moves",
    "count_new",
    "count_purged",
    "refresh_due",
]


def count_new(letters: Sequence[DeadLetter]) -> None:
    """Count letters that were really inserted, with their keys; wakes what they happened again of."""
    tally = Tally()
    for letter in letters:
        tally.enter(letter, letter.state)
        tally.died(letter, letter.dead_at)
    write(tally)


def count_adopted(letters: Sequence[DeadLetter], deaths: Mapping[int, int]) -> None:
    """Count letters from before there were groups, in whatever state. ``deaths``: letter id → deaths of its replays."""
    tally = Tally()
    for letter in letters:
        tally.enter(letter, letter.state)
        tally.died(letter, letter.last_died_at or letter.dead_at, 1 + deaths.get(letter.pk, 0))
    write(tally)


def count_moves(letters: Sequence[DeadLetter], before: Mapping[int, str]) -> None:
    """Count letters whose state is new. ``before``: letter id → the state it was in; one in the same is left out."""
    count_ends(letters, before)


def count_deaths_again(letters: Sequence[DeadLetter], from_group: Mapping[int, int | None]) -> None:
    """Count deaths of replays whose letters are in the states that they are counted in; a letter that died twice is
    there twice. ``from_group``: letter id → the group that it was in, if that may be another."""
    before = {letter.pk: str(letter.state) for letter in letters}
    once = {letter.pk: letter for letter in letters}
    count_ends(list(once.values()), before, from_group, Counter(letter.pk for letter in letters))


def count_ends(
    letters: Sequence[DeadLetter],
    before: Mapping[int, str],
    from_group: Mapping[int, int | None] | None = None,
    deaths: Mapping[int, int] | None = None,
    dues: Mapping[int, datetime] | None = None,
) -> None:
    """Count how letters moved, all at once: ``before`` and ``from_group`` as above, ``deaths``: letter id → how often
    its replays died, the newest time at ``last_died_at``; ``dues``: letter id → when it was due, if that may be new."""
    tally, now = Tally(), timezone.now()
    for letter in letters:
        group_id = letter.group_id if from_group is None else from_group.get(letter.pk, letter.group_id)
        state, due = before[letter.pk], letter.due_at if dues is None else dues[letter.pk]
        if group_id == letter.group_id and due == letter.due_at:
            if state != letter.state:
                tally.move(letter, state)
        else:
            tally.leave(letter, group_id, state, due)
            tally.enter(letter, letter.state)
        if state in UNDRAINED and letter.state not in UNDRAINED:
            tally.drained(letter.group_id, letter.drained_at or now)
        if deaths and deaths.get(letter.pk):
            tally.died(letter, letter.last_died_at or letter.dead_at, deaths[letter.pk])
    write(tally)


def count_purged(letters: Sequence[DeadLetter]) -> None:
    """Count letters that were just deleted, with the states that they had: call it after the deletion."""
    tally = Tally()
    for letter in letters:
        tally.leave(letter, letter.group_id, letter.state, letter.due_at)
        tally.purged(letter)
    write(tally)


def refresh_due(group_ids: Collection[int]) -> None:
    """Set the groups' due times anew, as those of their letters were changed in this transaction."""
    if not group_ids:
        return
    # Locked by a statement of its own: the next one sees what others had changed until then.
    groups = lock_groups(group_ids)
    dues = due_times([group.pk for group in groups])
    moved = [group for group in groups if group.due_at != dues.get(group.pk)]
    for group in moved:
        group.due_at = dues.get(group.pk)
    update_rows(DeadLetterGroup, moved, ["due_at"])
