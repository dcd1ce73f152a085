"""Durations as people write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobops.contracts.durations import LONGEST, parse, show


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("500ms", 0.5), ("4h", 14_400), ("5m", 300), ("2d", 172_800), ("1w", 604_800), ("1h30m", 5_400),
     (" 1.5H ", 5_400), (30, 30), (0.25, 0.25), (timedelta(minutes=1), 60), (0, 0)],
)  # fmt: skip
def test_a_duration_is_read_in_every_form(text: Any, seconds: float) -> None:
    assert parse(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "bad",
    ["", "30", "s", "30 parsecs", "-5s", "1h 30", "٣s", "1.5.5s", -1, -0.1, float("nan"), float("inf"), 1e300, 10**40,
     True, None, [], timedelta(seconds=-1), timedelta.max, "9" * 12 + "w"],
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_what_would_be_right(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"write it as|zero or more|shorter") as refused:
        parse(bad)
    assert not isinstance(refused.value, OverflowError)


def test_who_writes_text_is_not_told_of_what_only_code_can_give() -> None:
    for bad, told in (("soon", False), (None, True)):
        with pytest.raises(ValueError, match='write it as "30s"') as refused:
            parse(bad)
        assert ("timedelta" in str(refused.value)) == told


@given(st.integers(min_value=0, max_value=int(LONGEST.total_seconds() * 1000)))
def test_what_is_shown_can_be_read_again(ms: int) -> None:
    duration = timedelta(milliseconds=ms)
    assert parse(show(duration)) == duration


@given(st.one_of(st.text(max_size=20), st.floats(), st.integers(), st.timedeltas()))
def test_anything_is_either_read_within_bounds_or_refused(value: Any) -> None:
    try:
        duration = parse(value)
    except ValueError:
        return
    assert timedelta(0) <= duration <= LONGEST
