"""What died lately and what succeeded since, as it was counted: whether the cause is gone is for people to judge.
Pure."""

from __future__ import annotations

from datetime import datetime

from dlq.models import DeadLetter, Reason
from jobops.web.formats import NBSP, ago, plural
from jobops.web.selectors.lately import Lately

WINDOW = f"in the last 5{NBSP}minutes"


def lately_sentences(letter: DeadLetter, found: Lately, now: datetime, *, staff: bool) -> str:
    """How many others died like this letter, and how many replays succeeded since; to a tenant's people, of their own
    jobs."""
    how = "of the same cause" if staff else "for the same reason"
    if letter.group_id is None:
        how = "with the same message" if letter.error.strip() else "in the same way"
    if found.count:
        least = "At least " if found.more else ""
        died = f"{found.count:,} more died" if staff else f"{found.count:,} more of your jobs failed"
        told = f"{least}{died} {how} {WINDOW}, the latest {ago(found.latest_at, now)}."
    elif found.more:
        told = f"Whether others {'died' if staff else 'of your jobs failed'} {how} {WINDOW} is not known: too many did."
    else:
        told = f"No other {'died' if staff else 'job of yours failed'} {how} {WINDOW}."
    return " ".join(filter(None, (told, since_then(found, staff=staff))))


def is_warning(letter: DeadLetter, found: Lately) -> bool:
    """Whether the numbers speak against a replay just now. Poison is bad in itself, whatever others die of."""
    return bool(found.count and not found.succeeded and letter.reason != Reason.POISON)


def since_then(found: Lately, *, staff: bool) -> str:
    """How many replays succeeded since the newest of these deaths; empty for none."""
    if not found.succeeded:
        return ""
    then = "Since then" if found.since == found.latest_at else f"Since this one {'died' if staff else 'failed'}"
    least = "at least " if found.more_succeeded else ""
    if staff:
        return f"{then}, {least}{plural(found.succeeded, 'replay')} succeeded."
    return f"{then}, {least}{found.succeeded:,} worked when tried again."
