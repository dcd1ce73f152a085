"""The arithmetic of pauses: what pausing and resuming makes of a letter's clock. Changes objects, and writes nothing.

Whole seconds throughout, so that ``due_at`` is always ``dead_at`` and the SLA and ``clock_paused_s``, to the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil

from dlq.clock.draining import LONGEST_S
from dlq.models import DeadLetter, DeadLetterGroup

PAUSE_FIELDS = (
    "due_at", "clock_paused_at", "clock_paused_until", "clock_pause_reason", "clock_paused_s",
)  # fmt: skip
"""The fields that a pause writes."""


def is_paused(it: DeadLetter | DeadLetterGroup, at: datetime) -> bool:
    """Whether its clock stands still at this instant."""
    return it.clock_paused_until is not None and it.clock_paused_until > at


def pause(letter: DeadLetter, *, at: datetime, until: datetime, reason: str) -> None:
    """Have the clock stand still from ``at`` to ``until``. One that stands still already does so until then instead,
    be that sooner or later."""
    begun = letter.clock_paused_at if is_paused(letter, at) else None
    before = letter.clock_paused_until if begun and letter.clock_paused_until else at
    _shift(letter, until - before)
    letter.clock_paused_at, letter.clock_paused_until, letter.clock_pause_reason = begun or at, until, reason


def resume(letter: DeadLetter, *, at: datetime) -> None:
    """Have the clock go on at ``at``: what is left of the pause comes off its due time again."""
    if is_paused(letter, at) and letter.clock_paused_until is not None:
        _shift(letter, at - letter.clock_paused_until)
    letter.clock_paused_at, letter.clock_paused_until, letter.clock_pause_reason = None, None, ""


def inherit_pauses(letters: Sequence[DeadLetter]) -> None:
    """Pause the clocks of letters that are about to be stored with the pauses of their groups, if those are in force
    when they died. Their ``due_at`` must be set. One query."""
    ids = {letter.group_id for letter in letters if letter.group_id is not None}
    if not ids:
        return
    first = min(letter.dead_at for letter in letters)
    paused = DeadLetterGroup.objects.filter(pk__in=ids, clock_paused_until__gt=first)
    groups = {group.pk: group for group in paused.order_by("pk")}
    for letter in letters:
        if (group := groups.get(letter.group_id or 0)) is not None:
            _inherit(letter, group)


def _inherit(letter: DeadLetter, group: DeadLetterGroup) -> None:
    paused_at, until = group.clock_paused_at, group.clock_paused_until
    if paused_at is None or until is None or until <= letter.dead_at:
        return
    pause(letter, at=max(paused_at, letter.dead_at), until=until, reason=group.clock_pause_reason)
    # By this a resumption of the group knows the letter again.
    letter.clock_paused_at = paused_at


def _shift(letter: DeadLetter, by: timedelta) -> None:
    seconds = ceil(by.total_seconds())
    # Never before the letter's own beginning, whatever the clocks of two machines say.
    seconds = max(seconds, -letter.clock_paused_s)
    seconds = min(seconds, LONGEST_S - letter.clock_paused_s)
    letter.clock_paused_s += seconds
    letter.due_at += timedelta(seconds=seconds)
