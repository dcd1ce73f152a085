"""Any bytes become text that a database takes and a person can read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dlq.text import capped, one_line, visible


def test_what_cannot_be_seen_is_spelled_out() -> None:
    """PX-01: NUL and its like."""
    assert visible("a\0b\x1b[31m\x7f\x9b") == "a\\x00b\\x1b[31m\\x7f\\x9b"
    assert visible(b"a\xff\x00b") == "a\\xff\\x00b"
    assert visible("evil\u202etxt.exe\u2028\ud800") == "evil\\u202etxt.exe\\u2028\\ud800"
    assert visible("tab\tand\r\nnewline\n ünïcödé 🎉") == "tab\tand\nnewline\n ünïcödé 🎉"


@given(st.one_of(st.binary(), st.text(st.characters(codec=None, exclude_categories=()))))
def test_every_text_can_be_stored(raw: bytes | str) -> None:
    text = visible(raw)
    text.encode()
    assert "\0" not in text
    assert visible(text) == text


@given(st.text(), st.integers(1, 300))
def test_capped_text_is_never_longer_and_keeps_head_and_tail(text: str, limit: int) -> None:
    short = capped(text, limit)
    assert len(short) <= limit
    if len(visible(text)) <= limit:
        assert short == visible(text)


def test_a_cap_says_how_much_is_left_out() -> None:
    short = capped("first line\n" + "x" * 10_000 + "\nlast line", 200)
    assert short.startswith("first line\n")
    assert short.endswith("\nlast line")
    assert "characters left out" in short


def test_a_name_is_one_line() -> None:
    assert one_line("a\nb\tc", 10) == "a\\nb\\tc"
    assert one_line("x" * 20, 10) == "x" * 9 + "…"
