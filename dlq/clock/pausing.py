"""Pausing a letter's drain clock, with a reason and a time when it goes on by itself; and letting it go on sooner."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dlq.causes.counting import refresh_due
from dlq.changing import letter_change
from dlq.clock.group_pausing import group_clock_pause, group_clock_resume
from dlq.clock.pause_terms import clean_reason, clean_until
from dlq.clock.pauses import PAUSE_FIELDS, is_paused, pause, resume
from dlq.errors import InvalidAction, WrongState
from dlq.locking import lock_letters
from dlq.models import DeadLetter
from dlq.rows import update_rows
from jobops.audit.recording import record
from tenants.services import Actor

__all__ = ["group_clock_pause", "group_clock_resume", "letter_clock_pause", "letter_clock_resume"]


def letter_clock_pause(*, letter_id: int, by: Actor, reason: str, until: datetime) -> DeadLetter:
    """Stop a letter's clock until ``until``; of one that is paused already, with its group too, move that time.

    Raises ``InvalidAction`` (field ``reason`` or ``until``), ``WrongState`` for a drained letter, or
    ``DeadLetter.DoesNotExist``.
    """
    now = timezone.now()
    reason, until = clean_reason(reason), clean_until(until, now)
    with transaction.atomic():
        letter = _lock(letter_id)
        before = pause_facts(letter)
        pause(letter, at=now, until=until, reason=reason)
        # From now on its own, and not its group's, which knows its letters by when its pause began.
        letter.clock_paused_at = now
        _save(letter, before, by, "letter.clock_pause", reason)
    return letter


def letter_clock_resume(*, letter_id: int, by: Actor) -> DeadLetter:
    """Let a paused clock go on now; what is left of the pause comes off the due time again.

    Raises ``InvalidAction`` when it is not paused, ``WrongState`` for a drained letter, or
    ``DeadLetter.DoesNotExist``.
    """
    now = timezone.now()
    with transaction.atomic():
        letter = _lock(letter_id)
        if not is_paused(letter, now):
            raise InvalidAction("clock", "it is not paused")
        before, reason = pause_facts(letter), letter.clock_pause_reason
        resume(letter, at=now)
        _save(letter, before, by, "letter.clock_resume", reason)
    return letter


def pause_facts(letter: DeadLetter) -> dict[str, str | None]:
    """What the audit tells of a clock."""
    until = letter.clock_paused_until
    return {"due_at": letter.due_at.isoformat(), "paused_until": until.isoformat() if until else None}


def _lock(letter_id: int) -> DeadLetter:
    letters = lock_letters([letter_id])
    if not letters:
        raise DeadLetter.DoesNotExist(f"There is no dead letter {letter_id}.")
    if not letters[0].is_undrained:
        raise WrongState(letter_id, letters[0].state, "it is drained: its clock has stopped")
    return letters[0]


def _save(letter: DeadLetter, before: dict[str, str | None], by: Actor, action: str, reason: str) -> None:
    update_rows(DeadLetter, [letter], PAUSE_FIELDS)
    record(by, letter_change(letter, action, before, pause_facts(letter), reason))
    if letter.group_id is not None:
        refresh_due([letter.group_id])
