"""Clocks of letters that missed what became of their group's clock, as they were drained then, or in another group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from dlq.clock.group_batches import change_clock, pause_with_group
from dlq.clock.pauses import PAUSE_FIELDS, is_paused, resume
from dlq.models import DeadLetter, DeadLetterGroup, LetterChange
from dlq.owners.turn import while_deciding
from dlq.rows import update_rows


def catch_up(letters: Sequence[DeadLetter]) -> None:
    """Have the clocks of locked, drained letters stand as if they had not been drained, and write it: pauses and
    resumptions of their groups are done to them at the times at which they were done to the others.

    In the transaction that opens them, while they still say when they were drained. Two short queries.
    """
    drained = {letter.pk: letter.drained_at for letter in letters if letter.drained_at and letter.group_id}
    if not drained:
        return
    # From here on no group's clock is changed; a change that goes on does no harm by coming twice.
    while_deciding()
    missed = _changes({letter.group_id for letter in letters if letter.group_id}, min(filter(None, drained.values())))
    changed = []
    for letter in letters:
        mine = [each for each in missed[letter.group_id or 0] if _missed(each, letter.pk, drained.get(letter.pk))]
        # All of them, in their order: the last one alone would not know what was before.
        if sum(change_clock(each, letter) for each in mine):
            changed.append(letter)
    update_rows(DeadLetter, changed, PAUSE_FIELDS)


def follow(letters: Sequence[DeadLetter], from_group: Mapping[int, int | None]) -> None:
    """Have the clocks of locked letters that died of another cause go on if they stood still with the group that they
    were in (``from_group``, by letter id), stand still with their new one, and write it. No query if none moved."""
    moved = [letter for letter in letters if from_group.get(letter.pk) not in (None, letter.group_id)]
    if not moved:
        return
    while_deciding()
    now = timezone.now()
    ids = {from_group[letter.pk] or 0 for letter in moved}
    going_on = _changes(ids, now)
    groups = DeadLetterGroup.objects.in_bulk([*ids, *{letter.group_id or 0 for letter in moved}])
    changed = []
    for letter in moved:
        old_id = from_group[letter.pk] or 0
        told = sum(change_clock(each, letter) for each in going_on[old_id] if _missed(each, letter.pk, now))
        left = _leave(letter, groups.get(old_id), now)
        if _join(letter, groups.get(letter.group_id or 0), now) or left or told:
            changed.append(letter)
    update_rows(DeadLetter, changed, PAUSE_FIELDS)


def _changes(group_ids: Iterable[int], since: datetime) -> Mapping[int, list[LetterChange]]:
    """By group: what became of its clock, in its order, if that was still going on at this time."""
    found: dict[int, list[LetterChange]] = defaultdict(list)
    still = Q(ended_at__isnull=True) | Q(ended_at__gte=since)
    for change in LetterChange.objects.filter(still, kind=LetterChange.Kind.CLOCK, group__in=group_ids).order_by("pk"):
        found[change.group_id or 0].append(change)
    return found


def _missed(change: LetterChange, letter_id: int, since: datetime | None) -> bool:
    """Whether the change may have passed a letter by that was not among its letters since this time."""
    if since is None or letter_id > change.upto_id:
        return False
    return change.ended_at is None or change.ended_at >= since


def _leave(letter: DeadLetter, group: DeadLetterGroup | None, now: datetime) -> bool:
    if group is None or letter.clock_paused_at != group.clock_paused_at or not is_paused(letter, now):
        return False
    resume(letter, at=now)
    return True


def _join(letter: DeadLetter, group: DeadLetterGroup | None, now: datetime) -> bool:
    if group is None or not is_paused(group, now) or group.clock_paused_at is None or group.clock_paused_until is None:
        return False
    return pause_with_group(
        letter,
        at=now,
        paused_at=group.clock_paused_at,
        until=group.clock_paused_until,
        reason=group.clock_pause_reason,
        is_own=letter.clock_paused_at != group.clock_paused_at,
    )
