"""What a pause of a clock needs: a reason, and a time when the clock goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from dlq.errors import InvalidAction
from dlq.text import visible

REASON_LENGTH = 200
LONGEST_PAUSE = timedelta(days=90)


def clean_reason(reason: str) -> str:
    """The reason as it is stored. Raises ``InvalidAction`` when it is blank or too long."""
    text = visible(reason).strip()
    if not text:
        raise InvalidAction("reason", "say why the clock stands still, for those who wait")
    if len(text) > REASON_LENGTH:
        raise InvalidAction("reason", f"{len(text)} characters are too many; at most {REASON_LENGTH}")
    return text


def clean_until(until: datetime, now: datetime) -> datetime:
    """The time when the clock goes on. Raises ``InvalidAction`` unless it is in the next ``LONGEST_PAUSE``."""
    if timezone.is_naive(until):
        raise InvalidAction("until", "the time needs its zone")
    if until <= now:
        raise InvalidAction("until", "must be a time that is still to come")
    if until - now > LONGEST_PAUSE:
        raise InvalidAction("until", f"a clock is paused for {LONGEST_PAUSE.days} days at most")
    # PostgreSQL takes no offset of many hours.
    return until.astimezone(UTC)
