"""A time in which letters were drained, as filters ask for it: ``7d``, the last seven days, or two days, both included:
``2026-03-01..2026-03-07``."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import timezone

from dlq.clock.period import CUSTOM, LONGEST, Period, parse
from jobops.contracts import durations

BETWEEN = ".."
WANTED = f"how long ago at most, such as 7d, or two days, such as 2026-03-01{BETWEEN}2026-03-07"


def drained_in(text: str) -> str:
    """The time as it is written in an address. Raises ``ValueError`` for what is none."""
    period = period_of(text, timezone.now())
    return drained_during(period) if period.first is not None else durations.show(_age(text))


def period_of(text: str, now: datetime) -> Period:
    """From when until when that is; days begin in the zone that is active. Raises ``ValueError``."""
    first, between, last = text.partition(BETWEEN)
    if not between:
        return Period(text, now - _age(text), now)
    period, faults = parse({"period": CUSTOM, "from": first, "to": last}, now)
    if faults:
        name, problem = next(iter(faults.items()))
        raise ValueError(f"the {'first' if name == 'from' else 'last'} day {problem}")
    return period


def drained_during(period: Period) -> str:
    """The period of a report as such a time."""
    return f"{period.first}{BETWEEN}{period.last}" if period.first is not None else period.key


def drained_words(text: str) -> str:
    """The time as people read it."""
    first, between, last = text.partition(BETWEEN)
    if not between:
        return f"in the last {text}"
    return f"on {first}" if first == last else f"from {first} to {last}"


def _age(text: str) -> timedelta:
    try:
        age = durations.parse(text)
    except ValueError:
        raise ValueError(f"must be {WANTED}") from None
    if not timedelta(0) < age <= LONGEST:
        raise ValueError(f"must be more than 0 and {LONGEST.days} days at most")
    return age
