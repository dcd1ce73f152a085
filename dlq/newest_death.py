"""A replay's death: what it tells goes into the letter that it is a replay of, whose clock goes on as before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dlq.models import DeadLetter

if TYPE_CHECKING:
    from dlq.endings import Ending

HISTORY_LENGTH = 200
"""Attempts kept of a letter: the first quarter of it and the newest ones."""

CONTENT = (
    "reason", "error_class", "error", "traceback", "attempts", "max_attempts", "history", "last_died_at",
    "checkpoint", "checkpoint_at", "progress_done", "progress_total",
)  # fmt: skip
"""The fields that a death writes."""


def take_over(letter: DeadLetter, number: int, ending: Ending, *, newest: bool) -> None:
    """Write replay ``number``'s death into the letter; of one that is not the ``newest``, its attempts only."""
    told = ending.told
    if told is not None:
        letter.history = joined(letter.history, told.history, number)
    if not newest:
        return
    letter.last_died_at = ending.at
    if told is not None and not (told.placeholder and letter.error):
        letter.reason, letter.error_class, letter.error = told.reason, told.error_class, told.error
        letter.traceback = told.traceback
        letter.attempts, letter.max_attempts = told.attempts, told.max_attempts
        _take_over_position(letter, told)
    elif told is None and ending.error_class:
        letter.error_class, letter.error, letter.traceback = ending.error_class, ending.error, ""
        letter.attempts = ending.attempt


def _take_over_position(letter: DeadLetter, told: DeadLetter) -> None:
    """How far it got. A replay that died before it saved anything has not lost what an earlier run had reached."""
    if told.checkpoint:
        # One that a replay was only given, and died with, is as old as it was.
        kept = letter.checkpoint_at if told.checkpoint == letter.checkpoint else None
        letter.checkpoint, letter.checkpoint_at = told.checkpoint, told.checkpoint_at or kept
    if told.progress_total is not None:
        letter.progress_done, letter.progress_total = told.progress_done, told.progress_total


def joined(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """The attempts so far and those of replay ``number``, which say so; of very many the middle is left out."""
    kept = [attempt for attempt in before if attempt.get("replay") != number]
    whole = [*kept, *({**attempt, "replay": number} for attempt in after)]
    if len(whole) <= HISTORY_LENGTH:
        return whole
    first = HISTORY_LENGTH // 4
    return whole[:first] + whole[len(whole) - (HISTORY_LENGTH - first) :]
