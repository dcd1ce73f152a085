"""Values that nobody may read in a text, found wherever the text repeats them. Pure.

What it costs grows with the text and hardly with the number of values, whatever a job's author or a customer wrote.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from jobops.contracts.error_text import CUT_MARK, LEFT_OUT

DOTS = "••••••••"
SHORTEST_SECRET = 4
"""A shorter value in an error's text says nothing, and would blot out half of it."""

MOST_SECRETS = 2_000
"""Of more values, none is looked for: every text is hidden as a whole."""

TOO_MANY = "Hidden: the arguments hold too many secrets to find each of them in this text."
UNREADABLE = "Hidden: the arguments cannot be read, so nobody knows what in this text is secret."

_FEW = 16
_LONG = 256
# The engine's cut of an attempt's error, the shortest of all cuts, leaves no note.
_SHORTEST_CUT = 500
_MOST_CUTS = 4
_CUTS = re.compile("|".join((re.escape(CUT_MARK), re.escape(LEFT_OUT).replace(r"\{\}", r"\d{1,9}"))), re.ASCII)

Span = tuple[int, int]


class Secrets:
    """Values to hide. ``instead``: what is shown in place of any text; empty where the values can be looked for."""

    def __init__(self, values: Iterable[str] = (), *, instead: str = "") -> None:
        found: set[str] = set()
        for value in values:
            if len(value) >= SHORTEST_SECRET:
                found.add(value)
                if len(found) > MOST_SECRETS:
                    found, instead = set(), TOO_MANY
                    break
        self.instead = instead
        self.values = sorted(found, key=lambda value: (-len(value), value))
        """The longest first."""
        self._all = found

    def __contains__(self, value: str) -> bool:
        """Whether it is one of the values, as a whole."""
        return value in self._all

    def hide(self, text: str) -> str:
        """The text with dots for each value that it repeats, also for half of one at a place where it was cut."""
        if self.instead:
            return self.instead if text.strip() else text
        spans = sorted([*self._repeated(text), *self._halves(text)]) if self.values else []
        if not spans:
            return text
        parts, at = [], 0
        for begin, end in spans:
            if begin >= at:
                parts += [text[at:begin], DOTS]
            at = max(at, end)
        return "".join([*parts, text[at:]])

    def _repeated(self, text: str) -> Iterator[Span]:
        for value in self._searched:
            if len(value) <= len(text):
                yield from _places(value, text)
        if self._index is not None:
            yield from self._index.spans(text)

    @cached_property
    def _searched(self) -> list[str]:
        """The values that are looked for one by one, which is quick for few of them and for long ones."""
        return self.values if self._index is None else [value for value in self.values if len(value) > _LONG]

    @cached_property
    def _index(self) -> _Index | None:
        short = [value for value in self.values if len(value) <= _LONG]
        return _Index(short) if len(short) > _FEW else None

    def _halves(self, text: str) -> Iterator[Span]:
        if len(text) < _SHORTEST_CUT:
            return
        cuts = [cut.span() for cut in islice(_CUTS.finditer(text), _MOST_CUTS + 1)]
        if len(cuts) > _MOST_CUTS:  # nobody cuts so often
            yield 0, len(text)
            return
        for value in self.values:
            for begin, end in (*cuts, (len(text), len(text))):
                yield from _head_before(begin, value, text)
                yield from _tail_after(end, value, text)


class _Index:
    """Finds, at each place of a text, the longest of many values that begins there."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted(values)
        self._heads = {value[:SHORTEST_SECRET] for value in self._values}
        self._longest = max(map(len, self._values))
        # For each value the place of the longest other one that it begins with.
        self._within: list[int] = []
        for place, value in enumerate(self._values):
            near = place - 1
            while near >= 0 and not value.startswith(self._values[near]):
                near = self._within[near]
            self._within.append(near)

    def spans(self, text: str) -> Iterator[Span]:
        heads = self._heads
        for at in range(len(text) - SHORTEST_SECRET + 1):
            if text[at : at + SHORTEST_SECRET] in heads:
                length = self._length_at(at, text)
                if length:
                    yield at, at + length

    def _length_at(self, at: int, text: str) -> int:
        part = text[at : at + self._longest]
        # A value that this begins with is the one right before it in the order, or begins that one.
        place = bisect_right(self._values, part) - 1
        while place >= 0 and not part.startswith(self._values[place]):
            place = self._within[place]
        return len(self._values[place]) if place >= 0 else 0


def _places(value: str, text: str) -> Iterator[Span]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))


def _head_before(cut: int, value: str, text: str) -> Iterator[Span]:
    """The longest beginning of the value that ends where the text was cut."""
    at = max(0, cut - len(value) + 1)
    while (at := text.find(value[:SHORTEST_SECRET], at, cut)) >= 0:
        if value.startswith(text[at:cut]):
            yield at, cut
            return
        at += 1


def _tail_after(cut: int, value: str, text: str) -> Iterator[Span]:
    """The longest end of the value that begins where the text goes on."""
    until = min(len(text), cut + len(value) - 1)
    while (at := text.rfind(value[-SHORTEST_SECRET:], cut, until)) >= 0:
        until = at + SHORTEST_SECRET
        if value.endswith(text[cut:until]):
            yield cut, until
            return
        until -= 1
