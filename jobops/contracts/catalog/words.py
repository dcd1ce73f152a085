"""Values as people read them, alike in every form of the catalog."""

from __future__ import annotations

from collections.abc import Iterable

NOT_BUILT = "not built"
"""Stands for a capability that is still to come."""
NOT_MEASURED = "not measured yet"
NOTHING = "–"

_UNITS = (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0))


def span(seconds: float | None) -> str:
    """A duration in at most two units: ``250 ms``, ``1.5 s``, ``30 s``, ``1 h 30 min``. None → ``–``."""
    if seconds is None:
        return NOTHING
    if seconds < 0.9995:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    left = round(seconds)
    parts: list[str] = []
    for unit, size in _UNITS:
        count, left = divmod(left, int(size))
        if count:
            parts.append(f"{count} {unit}")
        elif parts:
            break
    return " ".join(parts[:2])


def plural(count: int, one: str, many: str = "") -> str:
    """A counted word: ``1 job``, ``3 jobs``, ``1,204 jobs``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(names: Iterable[str], most: int = 6) -> str:
    """``a``, ``a and b``, ``a, b and c``; of more than ``most`` the rest is only counted."""
    found = list(names)
    if len(found) > most:
        return f"{', '.join(found[:most])} and {len(found) - most} more"
    return f"{', '.join(found[:-1])} and {found[-1]}" if len(found) > 1 else "".join(found)


def one_line(text: str) -> str:
    """The text without line breaks and double blanks."""
    return " ".join(text.split())
