"""Types of options that several commands take. Each raises ``ArgumentTypeError`` that says what would be right."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from dlq.access import MAX_ID
from jobops.contracts import durations

TIME = "an ISO time, in UTC where it names no zone, such as 2026-03-16T09:00+01:00"
WHEN = f"{TIME}, or how long, such as 12h or 3d"


def number(text: str) -> int:
    """The number of a row, from 1."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) <= MAX_ID):
        raise ArgumentTypeError(f"{text!r} must be a whole number from 1")
    return int(text)


def duration(text: str) -> timedelta:
    """How long, such as 12h."""
    try:
        return durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def moment(text: str) -> datetime:
    """``WHEN``: an instant, or how long from now."""
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is not None:
        return timezone.make_aware(at, UTC) if timezone.is_naive(at) else at
    try:
        return timezone.now() + durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} must be {WHEN}") from error
