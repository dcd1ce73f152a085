"""Durations as people write them: ``"30s"``, ``"4h"``, ``"1h30m"``, a timedelta, or a number of seconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from jobops.contracts.faults import BadValue

Duration = str | timedelta | int | float
"""What a contract takes wherever it takes a duration."""

LONGEST = timedelta(days=3650)
"""Ten years: more is a mistake, and far more overflows."""

_UNITS_MS = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_PART = r"\d{1,12}(?:\.\d{1,6})?(?:ms|[smhdw])"
_WHOLE = re.compile(rf"(?:{_PART})+", re.ASCII)
_PARTS = re.compile(r"([\d.]+)(ms|[smhdw])", re.ASCII)
_HINT = 'write it as "30s", "5m", "4h", "2d", "1h30m" or "500ms"'
# Who wrote text may be a person at a command or a page, who can give nothing else.
_HINT_IN_CODE = f"{_HINT}, as a timedelta, or as a number of seconds"


def parse(value: object) -> timedelta:
    """The duration that ``value`` says. Numbers are seconds. Raises BadValue (a ValueError) saying what is right."""
    duration = _read(value)
    if duration < timedelta(0):
        raise BadValue(f"{value!r} is negative", "a duration is zero or more")
    if duration > LONGEST:
        raise BadValue(f"{value!r} is longer than {LONGEST.days} days", "give a shorter duration")
    return duration


def show(value: timedelta) -> str:
    """A duration in the form that ``parse`` reads, to the millisecond: ``"1h30m"``."""
    left = round(value / timedelta(milliseconds=1))
    parts = []
    for unit in ("d", "h", "m", "s", "ms"):
        count, left = divmod(left, _UNITS_MS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _read(value: object) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if isinstance(value, float) and not math.isfinite(value):
            raise BadValue(f"{value!r} is not a duration", _HINT_IN_CODE)
        # Clamped first: timedelta() itself raises OverflowError on a huge number.
        seconds = max(-1.0, min(value, LONGEST.total_seconds() + 1))
        return timedelta(seconds=seconds)
    if isinstance(value, str):
        text = value.strip().lower()
        if _WHOLE.fullmatch(text):
            ms = sum(float(number) * _UNITS_MS[unit] for number, unit in _PARTS.findall(text))
            return timedelta(milliseconds=min(ms, LONGEST / timedelta(milliseconds=1) + 1))
        raise BadValue(f"{value!r} is not a duration", _HINT)
    raise BadValue(f"{value!r} is not a duration", _HINT_IN_CODE)
