"""The columns of a cause's chart: deaths in each ten minutes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 132, 32
FLOOR = 5
"""The scale never ends below so many, so that one death an hour does not look like a storm."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, from its left upper corner."""

    x: str
    y: str
    height: str


@dataclass(frozen=True, slots=True)
class Columns:
    """A chart of columns on a line; a time without a death has none. ``tone``: a colour class without its ``c-``."""

    columns: Sequence[Column]
    width: str
    label: str
    tone: str = "mark"


def columns(values: Sequence[int], label: str, tone: str = "mark") -> Columns:
    """The chart of these counts, the oldest first."""
    step = WIDTH / max(1, len(values))
    top, room = max(FLOOR, *values, 0), HEIGHT - 5
    drawn = []
    for index, value in enumerate(values):
        if value > 0:
            height = max(1.5, value / top * room)
            drawn.append(Column(f"{index * step:.1f}", f"{HEIGHT - 1 - height:.1f}", f"{height:.1f}"))
    return Columns(drawn, f"{step * 0.63:.1f}", label, tone)
