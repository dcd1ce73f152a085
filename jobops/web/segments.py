"""A bar of parts side by side, each with a pattern of its own, so that nobody has to tell them by colour. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NARROWEST = 0.8
"""Per cent of the bar that the smallest part takes, so that it can still be seen."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part. ``look``: ``ok``, ``dead``, ``run``, ``wait`` or ``skip``; ``note``: stands under the count."""

    look: str
    word: str
    count: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """Where a part stands in the bar, in per cent of its width."""

    look: str
    x: str
    width: str


def segments(parts: Sequence[Part]) -> list[Segment]:
    """The parts that are not empty, in proportion."""
    shown = [part for part in parts if part.count > 0]
    total = sum(part.count for part in shown)
    small = [part for part in shown if part.count / total * 100 < NARROWEST]
    room = 100 - NARROWEST * len(small)
    rest = total - sum(part.count for part in small)
    found, x = [], 0.0
    for part in shown:
        width = NARROWEST if part in small else part.count / rest * room
        found.append(Segment(part.look, f"{x:.2f}%", f"{width:.2f}%"))
        x += width
    return found


def label(parts: Sequence[Part]) -> str:
    """The bar in words: ``1,858 succeeded, 24 running``."""
    return ", ".join(f"{part.count:,} {part.word.lower()}" for part in parts if part.count) or "nothing"
