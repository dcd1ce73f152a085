"""Exact percentiles of numbers that occur more than once."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor


def percentile(counts: Mapping[int, int], share: float) -> float | None:
    """The number that this share of all is not above, between two of them in proportion; None of no numbers.

    ``counts``: number → how often it occurs. As ``PERCENTILE_CONT`` and ``statistics.quantiles(method="inclusive")``.
    """
    total = sum(counts.values())
    if not total:
        return None
    place = (total - 1) * share
    below = floor(place)
    passed, low = 0, None
    for value in sorted(counts):
        passed += counts[value]
        if low is None and passed > below:
            low = value
        if low is not None and passed > min(below + 1, total - 1):
            return low + (value - low) * (place - below)
    raise AssertionError("unreachable: the last number passes every place")
