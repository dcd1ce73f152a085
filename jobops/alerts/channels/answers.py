"""What the other side said, or why there is nothing that it said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dlq.text import one_line
from jobops.contracts.secret_values import Secrets

LONGEST_ANSWER = 300


@dataclass(frozen=True, slots=True)
class Answer:
    """``ok``: it has taken the message. ``status``: of HTTP, 0 where there is none. ``text``: for people, on one line,
    without secrets. ``retry_after``: seconds that it asked for; None: it did not."""

    ok: bool
    status: int = 0
    text: str = ""
    retry_after: float | None = None


def told(text: str, secrets: Iterable[str] = ()) -> str:
    """A text from outside as it may be kept and shown: on one line, cut, and without these secrets."""
    return one_line(Secrets(secrets).hide(text), LONGEST_ANSWER)
