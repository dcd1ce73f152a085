"""A batch of letters whose group's clock was paused or goes on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from dlq.clock.pauses import PAUSE_FIELDS, is_paused, pause, resume
from dlq.models import DeadLetter, LetterChange
from dlq.rows import update_rows

PAUSE, RESUME = "pause", "resume"


def clock_batch(change: LetterChange, letters: Sequence[DeadLetter]) -> int:
    """Pause these letters, or let their clocks go on, as the change says; answers how many it changed.

    They are locked and undrained. Right to do twice. A letter that somebody paused by itself, and for longer, or later
    than the group, keeps that pause: no pause of its group shortens it, and no resumption of its group ends it.
    """
    changed = [letter for letter in letters if change_clock(change, letter)]
    update_rows(DeadLetter, changed, PAUSE_FIELDS)
    return len(changed)


def change_clock(change: LetterChange, letter: DeadLetter) -> bool:
    """Do to one letter what the change says, without writing it; answers whether that was anything."""
    what = change.what
    at, paused_at = datetime.fromisoformat(what["at"]), datetime.fromisoformat(what["paused_at"])
    known_by = {paused_at, *map(datetime.fromisoformat, what.get("was", ()))}
    if what["do"] == PAUSE:
        until, reason = datetime.fromisoformat(what["until"]), str(what["reason"])
        is_own = letter.clock_paused_at not in known_by
        return pause_with_group(letter, at=at, paused_at=paused_at, until=until, reason=reason, is_own=is_own)
    if letter.clock_paused_at not in known_by or not is_paused(letter, at):
        return False
    resume(letter, at=at)
    return True


def pause_with_group(
    letter: DeadLetter, *, at: datetime, paused_at: datetime, until: datetime, reason: str, is_own: bool
) -> bool:
    """Pause a letter with its group, whose pause began at ``paused_at``; answers whether that changed it. ``is_own``:
    a pause that it is in is its own."""
    if is_paused(letter, at) and letter.clock_paused_at is not None and letter.clock_paused_until is not None:
        if is_own and (letter.clock_paused_until >= until or letter.clock_paused_at > at):
            return False
        if (letter.clock_paused_at, letter.clock_paused_until) == (paused_at, until):
            return False  # the second time
    pause(letter, at=at, until=until, reason=reason)
    letter.clock_paused_at = paused_at  # by this a resumption knows it again
    return True
