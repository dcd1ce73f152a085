"""Until when: what forms offer for a snooze and for a pause of a clock, and what a person chose."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.utils import timezone

from dlq.errors import InvalidAction

MORNING = "morning"
MORNING_HOUR = 8
SPANS = {
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "3d": timedelta(days=3),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
OFFERED = (
    ("1h", "for an hour"),
    ("4h", "for 4 hours"),
    (MORNING, f"until tomorrow, {MORNING_HOUR:02}:00"),
    ("3d", "for 3 days"),
    ("7d", "for a week"),
    ("30d", "for 30 days"),
)
"""What a form offers: value and words."""


def until_of(form: Mapping[str, str], name: str, now: datetime) -> datetime:
    """The instant that a form names: in ``at`` a date and time in the person's zone, else in ``name`` one of
    ``OFFERED``. Raises ``InvalidAction`` (field ``until``) for anything else."""
    typed, chosen = form.get("at", "").strip(), form.get(name, "").strip()
    if typed:
        return _typed(typed)
    if chosen == MORNING:
        tomorrow = timezone.localtime(now) + timedelta(days=1)
        return tomorrow.replace(hour=MORNING_HOUR, minute=0, second=0, microsecond=0)
    if chosen not in SPANS:
        raise InvalidAction("until", "choose until when")
    return now + SPANS[chosen]


def _typed(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
        return timezone.make_aware(at) if timezone.is_naive(at) else at
    except (ValueError, OverflowError):
        raise InvalidAction("until", "the time must be a date and a time, such as 2026-03-12 09:00") from None
