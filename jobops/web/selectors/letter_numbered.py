"""The letter whose number somebody searched for."""

from __future__ import annotations

from datetime import datetime

from dlq.access import MAX_ID, letters_visible_to
from jobops.web.selectors.letter_rows import light
from jobops.web.selectors.letters import LetterLine, line_of
from tenants.access import AnyUser, sees_all


def letter_numbered(user: AnyUser, text: str, now: datetime) -> LetterLine | None:
    """The letter with this number, whatever state it is in; None where the text is no number, or it is none that
    this person sees. One query at most."""
    number = text.strip().removeprefix("No.").strip()
    if not (number.isascii() and number.isdigit() and 0 < int(number[:20]) <= MAX_ID):
        return None
    letter = light(letters_visible_to(user).filter(pk=int(number))).first()
    return line_of(letter, now, staff=sees_all(user)) if letter is not None else None
