"""What became of a replay, in a sentence for people; what is secret in the letter's arguments is masked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dlq.models import DeadLetter, ReplayRun
from dlq.payloads import secrets_of_letter
from dlq.text import one_line
from jobops.contracts import masking

if TYPE_CHECKING:
    from dlq.endings import Ending

LENGTH = 500

Run = ReplayRun.State


def note_of(letter: DeadLetter, run: ReplayRun, ending: Ending) -> str:
    """The sentence; empty for a replay that succeeded."""
    if ending.state == Run.SUCCEEDED:
        return ""
    # Masked before it is cut, and by itself: where the engine has cut it already, it ends with half a secret.
    error = masking.masked_text(ending.error, secrets_of_letter(letter))
    what = _what(replace(ending, error=error))
    if run.payload and ending.state == Run.DISCARDED:
        what += " That was said of the edited arguments, not of its own."
    return one_line(f"Replay {run.number} {what}", LENGTH)


def _what(ending: Ending) -> str:
    match ending.state:
        case Run.DISCARDED:
            return f"was ended by its contract: {_error(ending)}."
        case Run.DIED:
            return f"died again{_in_attempt(ending)}: {_error(ending)}."
        case Run.CANCELLED:
            return f"was cancelled{_in_attempt(ending, 'after attempt') or ' before it ran'}."
        case Run.REFUSED:
            return f"was refused and did not run: {_error(ending)}."
        case Run.COALESCED:
            into = f" {ending.into}" if ending.into else ""
            return f"did not run by itself: live job{into} has the same key and took its place."
        case _:
            return f"is lost: {_error(ending)}. It may have run."


def _error(ending: Ending) -> str:
    told = ": ".join(part for part in (ending.error_class, ending.error.strip()) if part)
    return told.rstrip(".") or "it said nothing"


def _in_attempt(ending: Ending, words: str = "in attempt") -> str:
    return f" {words} {ending.attempt}" if ending.attempt else ""
