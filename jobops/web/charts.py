"""Geometry of the small charts in cells. Pure: the templates in ``templates/parts/`` draw what is computed here,
with presentation attributes only, since the pages allow no inline style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spark:
    """A line with its filled ground and a dot on its last value. ``tone``: a colour class without its ``c-``."""

    width: int
    height: int
    line: str
    ground: str
    x: str
    y: str
    label: str
    tone: str = "mark"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar on a track; ``tick`` marks a limit or an entitlement, None: there is none."""

    width: int
    filled: str
    label: str
    tone: str = "mark"
    tick: str | None = None
    tick_gap: str | None = None


def _n(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def spark(
    values: Sequence[float], label: str, *, width: int = 72, height: int = 24, floor: float = 1.0, tone: str = "mark"
) -> Spark | None:
    """A sparkline; None with fewer than two values.

    ``floor``: the scale never ends below it, so that noise near zero looks flat.
    """
    if len(values) < 2:
        return None
    top = max(floor, *values)
    step = (width - 6) / (len(values) - 1)
    points = [(1 + index * step, height - 2 - value / top * (height - 5)) for index, value in enumerate(values)]
    line = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    last_x, last_y = _n(points[-1][0]), _n(points[-1][1])
    base = height - 1
    return Spark(width, height, line, f"1,{base} {line} {last_x},{base}", last_x, last_y, label, tone)


def bar(
    value: float, scale: float, label: str, *, width: int = 56, tick: float | None = None, tone: str = "mark"
) -> Bar:
    """A bar for ``value`` where ``scale`` fills it. Values beyond the scale fill it too."""
    filled = min(1.0, max(0.0, value / scale)) * width if scale > 0 else 0.0
    if tick is None or scale <= 0:
        return Bar(width, _n(filled), label, tone)
    x = min(width - 2.0, max(0.0, tick / scale * width - 1))
    return Bar(width, _n(filled), label, tone, _n(x), _n(x - 1))


@dataclass(frozen=True, slots=True)
class Trend:
    """A wide line over time. ``limit``: the height of a dashed line, None: there is none."""

    spark: Spark
    limit: str | None


def trend(
    values: Sequence[float],
    label: str,
    *,
    limit: float | None = None,
    width: int = 520,
    height: int = 72,
    floor: float = 1.0,
    tone: str = "accent",
) -> Trend | None:
    """A line for a panel; None with fewer than two values. The scale holds ``limit``, with some room above it."""
    top = max(floor, (limit or 0.0) * 1.25)
    drawn = spark(values, label, width=width, height=height, floor=top, tone=tone)
    if drawn is None:
        return None
    scale = max(top, *values)
    return Trend(drawn, None if limit is None else _n(height - 2 - limit / scale * (height - 5)))


@dataclass(frozen=True, slots=True)
class Gauge:
    """How near a share comes to its limit, which stands in the middle. ``filled``: in thousandths of the width."""

    filled: int
    label: str
    tone: str
    most: str
    limit: str


def gauge(percent: float, limit: float, label: str) -> Gauge:
    """A gauge from 0 to twice the limit, both in per cent."""
    share = percent / (2 * limit) if limit > 0 else float(percent > 0)
    tone = "danger" if percent > limit else "mark"
    return Gauge(round(min(1.0, max(0.0, share)) * 1000), label, tone, f"{2 * limit:g}%", f"{limit:g}%")
