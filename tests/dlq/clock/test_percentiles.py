"""Percentiles from how often each number occurs are those of the numbers themselves."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.clock.percentiles import percentile


@given(st.lists(st.integers(0, 50), min_size=2, max_size=60))
def test_they_are_those_of_pythons_statistics(numbers: list[int]) -> None:
    counts = Counter(numbers)
    assert percentile(counts, 0.5) == pytest.approx(statistics.median(numbers))
    assert percentile(counts, 0.95) == pytest.approx(statistics.quantiles(numbers, n=20, method="inclusive")[18])


def test_of_no_numbers_there_is_none_and_of_one_it_is_that() -> None:
    assert percentile({}, 0.5) is None
    assert (percentile({7: 1}, 0.5), percentile({7: 1}, 0.95)) == (7, 7)
