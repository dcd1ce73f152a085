"""What values limits and reasons may have; each fault is one ``InvalidLimit`` that says what would be right."""

from __future__ import annotations

import unicodedata

from jobops.engine.rates import parse_rate
from jobops.limits.errors import InvalidLimit
from jobops.limits.models import LimitChange, Pause
from jobops.limits.targets import Target

MOST_AT_ONCE = 100_000


class Unset:
    """Stands for "leave it as it is", where None stands for "any number"."""


UNSET = Unset()


def clean_concurrency(value: object) -> int | None:
    """A whole number from 1, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_AT_ONCE:
        right = f"must be a whole number from 1 to {MOST_AT_ONCE:,}, or none (to stop it, pause it)"
        raise InvalidLimit("concurrency", f"{value!r} {right}")
    return value


def read_concurrency(text: str) -> int | None:
    """What a person typed: a whole number, or nothing for any number. Raises InvalidLimit."""
    text = text.strip()
    if not text or text == "none":
        return None
    return clean_concurrency(int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text)


def clean_rate(value: object) -> str:
    """A rate as it is stored: in its shortest form, or empty for any."""
    if value is None or value == "":
        return ""
    try:
        return str(parse_rate(value))  # type: ignore[arg-type]
    except ValueError as error:
        raise InvalidLimit("rate", str(error)) from None


def clean_reason(value: str, *, required: bool) -> str:
    """One line of text for people."""
    text, most = value.strip(), Pause._meta.get_field("reason").max_length or 0
    if required and not text:
        raise InvalidLimit("reason", "say why, for those who find the limit changed")
    if len(text) > most:
        raise InvalidLimit("reason", f"must be at most {most} characters, not {len(text)}")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        raise InvalidLimit("reason", "must be one line of text without control characters")
    return text


def check_limited(target: Target) -> None:
    """Raises InvalidLimit where this cannot have a limit: everything at once, or a name too long for its column."""
    if target.kind == "all":
        raise InvalidLimit("name", "everything at once has no limit: name a resource or a job type")
    most = LimitChange._meta.get_field("resource").max_length or 0
    if len(target.gate) > most:
        raise InvalidLimit("name", f"{target.name[:80]!r} is too long for a changed limit: at most {most} characters")
