"""How numbers, ages and instants are written for people. Pure: no request, no settings, no translations.

A unit is joined to its number by a no-break space; an age has two units at most. An instant is written in the
zone that is active (``django.utils.timezone``), and its full form carries the zone's name.
"""

from __future__ import annotations

import math
from datetime import datetime

from django.utils import timezone

from jobops.contracts.catalog import words

NBSP = "\u00a0"
NOTHING = "–"
"""Stands for *not applicable*, as against a grey 0."""

plural = words.plural
"""A counted word, as in the catalog: ``1 job``, ``3 jobs``, ``1,204 jobs``."""

MINUTE, HOUR, DAY = 60, 3600, 86_400
SOON_S = 3600.0
"""A deadline that is nearer than this is soon."""


def number(value: int | float | None) -> str:
    """``48210`` → ``48,210``; a float is rounded to whole. None → ``–``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    # A whole number may be one that shows where counting stopped: rounded, it would not.
    return f"{value if isinstance(value, int) else round(value):,}"


def limit(value: int | None) -> str:
    """A cap or a limit: a number or, where there is none, that word, which is also what commands take."""
    return "none" if value is None else number(value)


def decimal(value: float | None, digits: int = 1) -> str:
    """``33.94`` → ``33.9``, with ``digits`` decimals. None → ``–``."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value:,.{digits}f}"


def plain(value: float | None) -> str:
    """A number without needless zeros: ``2.5``, ``3``. None → ``–``."""
    return NOTHING if value is None else f"{value:g}"


def percent(part: float | None, digits: int = 1) -> str:
    """A fraction as a bare number of per cent: ``0.339`` → ``33.9``; the unit stands in the column's head."""
    return decimal(None if part is None else part * 100, digits)


def duration(seconds: float | None) -> str:
    """An age or a span in at most two units: ``12 s``, ``41 min``, ``3 h 20 min``, ``1 d 2 h``. None → ``–``.

    Negative spans (two clocks that differ) count as 0.
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole}{NBSP}s"
    if whole < HOUR:
        return f"{whole // MINUTE}{NBSP}min"
    if whole < DAY:
        return _two(whole // HOUR, "h", whole % HOUR // MINUTE, "min")
    return _two(whole // DAY, "d", whole % DAY // HOUR, "h")


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    head = f"{large:,}{NBSP}{large_unit}"
    return f"{head}{NBSP}{small}{NBSP}{small_unit}" if small else head


def run_time(seconds: float | None) -> str:
    """How long something ran, finer than an age: ``8 ms``, ``1.2 s``, ``30.0 s``, then like ``duration``."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 0.9995:
        return f"{max(0, round(seconds * 1000))}{NBSP}ms"
    if seconds < MINUTE - 0.05:
        return f"{seconds:.1f}{NBSP}s"
    return duration(seconds)


def clock(at: datetime | None, now: datetime | None = None) -> str:
    """An instant, as short as it can be told apart: ``03:54`` today, ``Mon 09:00`` within a week, else ``12 Mar 09:00``
    or, in another year, ``12 Mar 2025``. None → ``–``."""
    if at is None:
        return NOTHING
    here = timezone.localtime(at)
    today = timezone.localtime(now or timezone.now())
    days = abs((here.date() - today.date()).days)
    if days == 0:
        return f"{here:%H:%M}"
    if days < 7:
        return f"{here:%a %H:%M}"
    if here.year == today.year:
        return f"{here.day} {here:%b %H:%M}"
    return f"{here.day} {here:%b %Y}"


def clock_seconds(at: datetime | None) -> str:
    """An instant to the second, for attempts and the refresh line: ``23:17:03``. None → ``–``."""
    return NOTHING if at is None else f"{timezone.localtime(at):%H:%M:%S}"


def moment(at: datetime | None, now: datetime | None = None) -> str:
    """An instant to the second, with its date unless that is today's: ``03:54:12``, ``Thu 12 Mar, 03:54:12`` or, in
    another year, ``12 Mar 2025, 03:54:12``. None → ``–``."""
    if at is None:
        return NOTHING
    here, today = timezone.localtime(at), timezone.localtime(now or timezone.now())
    if here.date() == today.date():
        return f"{here:%H:%M:%S}"
    day = f"{here:%a} {here.day} {here:%b}" if here.year == today.year else f"{here.day} {here:%b %Y}"
    return f"{day}, {here:%H:%M:%S}"


def full_time(at: datetime | None) -> str:
    """An instant in full, for a ``title``: ``Thu 12 Mar 2026, 03:54:12 CET``. None → the empty string."""
    if at is None:
        return ""
    here = timezone.localtime(at)
    return f"{here:%a} {here.day} {here:%b %Y, %H:%M:%S} {zone_name(here)}"


def zone_name(at: datetime) -> str:
    """The short name of an aware instant's zone: ``CET``, or ``UTC+05:45`` where the zone has no letters."""
    name = at.tzname() or "UTC"
    return f"UTC{name[:3]}{':' + name[3:] if len(name) > 3 else ''}" if name[:1] in "+-" else name


def ago(at: datetime | None, now: datetime | None = None) -> str:
    """``12 s ago``. None → ``–``."""
    if at is None:
        return NOTHING
    return f"{duration(((now or timezone.now()) - at).total_seconds())} ago"


def due(at: datetime | None, now: datetime | None = None) -> str:
    """A deadline from now: ``Due in 40 min``, or ``33 min late``. None → ``–``."""
    if at is None:
        return NOTHING
    left = (at - (now or timezone.now())).total_seconds()
    return f"Due in {duration(left)}" if left > 0 else f"{duration(-left)} late"


def spelled(count: int) -> str:
    """Small numbers in words at the start of a sentence: ``Four``; from ten on digits."""
    words = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
    return words[count] if 0 <= count < len(words) else f"{count:,}"


def listed(names: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
