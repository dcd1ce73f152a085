"""Patterns of the ownership rules: ``*`` stands for any text, also none; everything else for itself. Pure."""

from __future__ import annotations

from collections.abc import Callable

_ANY = "*"
# No name and no slug holds it: it stands for what only a star takes.
_FRESH = "\0"


def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text is of the pattern; upper and lower case differ. Takes time with their lengths, never more: a
    regular expression with many stars can take for ever."""
    if _ANY not in pattern:
        return lambda text: text == pattern
    first, *between, last = pattern.split(_ANY)

    def fits(text: str) -> bool:
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for part in between:
            # The first place is as good as any: what follows has all the more room.
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    return fits


def strictest(pattern: str) -> str:
    """The text of a pattern that is hardest to match: what the pattern leaves open is a character that nothing but
    another's star takes. Whoever matches this text matches all that the pattern does."""
    return pattern.replace(_ANY, _FRESH)


def covers(wide: str, narrow: str) -> bool:
    """Whether every text of ``narrow`` is one of ``wide`` too; exact."""
    return matcher(wide)(strictest(narrow))


def overlap(one: str, other: str) -> bool:
    """Whether some text is of both patterns."""
    reached = {(0, 0)}
    waiting = [(0, 0)]
    while waiting:
        i, j = waiting.pop()
        if i == len(one) and j == len(other):
            return True
        for step in _steps(one, i, other, j):
            if step not in reached:
                reached.add(step)
                waiting.append(step)
    return False


def _steps(one: str, i: int, other: str, j: int) -> list[tuple[int, int]]:
    """Where the two can be read on from: a star ends, or takes what the other one reads."""
    a, b = one[i : i + 1], other[j : j + 1]
    steps = []
    if a == _ANY:
        steps.append((i + 1, j))
        if b:
            steps.append((i, j + 1))
    if b == _ANY:
        steps.append((i, j + 1))
        if a:
            steps.append((i + 1, j))
    if a and a == b:
        steps.append((i + 1, j + 1))
    return steps
