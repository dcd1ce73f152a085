"""Values as people type them: what is written is read as the very same value, or refused with its name."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.argument_text import text_of, value_of
from dlq.errors import InvalidAction
from jobops.engine.payload import encode_result

PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=["Cs"]))
    | st.datetimes()
    | st.dates()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
)
NAMES = st.text(max_size=8, alphabet=st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["$datetime", "$dict", "$decimal", "$x", "__jobops__", "$"]
)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3))


@given(VALUES)
def test_what_is_written_is_read_as_the_same_value_of_the_same_type(value: Any) -> None:
    text = text_of(value)
    again = value_of(text, "x")
    assert encode_result(again) == encode_result(value)
    assert all(char.isprintable() or char == "\n" for char in text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 11, 30, 9, tzinfo=UTC), '{"$datetime": "2026-11-30T09:00:00+00:00"}'),
        (date(2026, 11, 30), '{"$date": "2026-11-30"}'),
        (Decimal("12.50"), '{"$decimal": "12.50"}'),
        (UUID(int=7), '{"$uuid": "00000000-0000-0000-0000-000000000007"}'),
        ({"$decimal": "mine"}, '{"$dict": {"$decimal": "mine"}}'),
        ("a\u202eb\0", '"a\\u202eb\\u0000"'),
        ("ä😀", '"ä😀"'),
    ],
)
def test_the_form_is_one_that_people_can_read(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("abc", "is no JSON at line 1, character 1; text stands in quotes"),
        ('{"a": 1,}', "is no JSON at line 1"),
        ("1 2", "is no JSON at line 1, character 3"),
        ("NaN", "NaN is no JSON; pass null or text"),
        ('{"a": 1, "a": 2}', "has the key a twice in one object"),
        ('{"$decimal": 12.5}', '$decimal must be text such as "12.50"'),
        ('{"$decimal": "twelve"}', '$decimal must be text such as "12.50"'),
        ('{"$datetime": "tomorrow"}', '$datetime must be text such as "2026-11-30T09:00:00+00:00"'),
        ('[{"$eval": "1"}]', "$eval is none of $datetime, $date, $decimal, $uuid, $dict"),
        ('{"$dict": 1}', "$dict stands before an object"),
        ("[" * 100 + "]" * 100, "is nested more than 64 levels deep"),
        ("[" * 100_000, "is nested more than 64 levels deep"),
        ("9" * 5000, "more than 4,000 digits"),
    ],
)
def test_what_is_no_value_is_refused_with_the_argument_and_what_is_right(text: str, problem: str) -> None:
    with pytest.raises(InvalidAction) as refusal:
        value_of(text, "amount")
    assert refusal.value.field == "amount"
    assert problem in refusal.value.problem
