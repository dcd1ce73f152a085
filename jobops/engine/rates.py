"""Rates: so many starts in so much time, as people write them and as a token bucket takes them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_RATE: Final = re.compile(r"([1-9]\d{0,8})/(\d{0,6})(ms|[smhd])", re.ASCII)
MOST_COUNT: Final = 1_000_000
LONGEST_MS: Final = 7 * 86_400_000
RATE_HINT: Final = 'write it as "50/s", "100/m" or "2/3s": so many in so much time'


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``count`` starts in ``per_ms`` milliseconds, as a token bucket: it holds ``count`` tokens and gains
    ``count`` of them in ``per_ms``, evenly. So within any window of that length at most twice ``count`` start."""

    count: int
    per_ms: int

    def __str__(self) -> str:
        for unit in ("d", "h", "m", "s", "ms"):
            times, rest = divmod(self.per_ms, _UNITS_MS[unit])
            if times and not rest:
                return f"{self.count}/{'' if times == 1 else times}{unit}"
        raise ValueError(f"per_ms: {self.per_ms} is no time")

    @property
    def per_second(self) -> float:
        """Tokens gained in a second."""
        return self.count * 1000 / self.per_ms


def parse_rate(text: str) -> Rate:
    """The rate that ``text`` says. Raises ValueError naming what is right."""
    found = _RATE.fullmatch(text.strip().lower()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"{text!r} is no rate; {RATE_HINT}")
    count, times, unit = int(found[1]), int(found[2] or 1), found[3]
    per_ms = times * _UNITS_MS[unit]
    if not (count <= MOST_COUNT and 1 <= per_ms <= LONGEST_MS):
        raise ValueError(f"{text!r} is out of bounds; at most {MOST_COUNT:,} starts, and a time of 1 ms to 7 days")
    return Rate(count, per_ms)
