"""Errors as text that can be stored anywhere."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobops import Poison
from jobops.contracts.error_text import (
    MESSAGE_LIMIT,
    TRACEBACK_LIMIT,
    class_of,
    clean,
    shown_message,
    shown_traceback,
    storable_json,
)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001
        return caught


def test_a_nul_is_made_visible() -> None:
    """PX-01"""
    assert shown_message(ValueError("a\x00b")) == "a\\x00b"
    assert "\x00" not in shown_traceback(raised(ValueError("a\x00b")))


def test_control_characters_are_made_visible_and_lines_stay() -> None:
    assert clean("\x1b[31mred\r\n\ttab\x7f\x85", 100) == "\\x1b[31mred\n\ttab\\x7f\\x85"


def test_what_turns_the_direction_of_a_text_or_breaks_a_line_is_made_visible() -> None:
    """Trojan source: what a terminal or a page shows must be what the text says."""
    assert clean("evil\u202etxt.exe\u2028\u2066", 100) == "evil\\u202etxt.exe\\u2028\\u2066"


def test_a_lone_surrogate_can_be_stored() -> None:
    assert shown_message(ValueError("\ud800")) == "\\ud800"


def test_a_huge_text_keeps_its_head_and_its_tail() -> None:
    """PX-04"""
    message = shown_message(ValueError("head" + "x" * 200_000 + "tail"))
    assert len(message.encode()) <= MESSAGE_LIMIT
    assert message.startswith("head")
    assert message.endswith("tail")
    assert "[cut]" in message


def test_a_traceback_of_megabytes_is_capped_in_no_time() -> None:
    """PX-04"""
    error = raised(ValueError("y" * 20_000_000))
    began = time.monotonic()
    text = shown_traceback(error)
    assert time.monotonic() - began < 5
    assert len(text.encode()) <= TRACEBACK_LIMIT
    assert text.startswith("Traceback")


@given(st.text(alphabet=st.characters(codec=None), max_size=400), st.integers(16, 200))
def test_any_text_fits_its_limit_and_is_valid_unicode(text: str, limit: int) -> None:
    shown = clean(text, limit)
    assert len(shown.encode()) <= limit
    assert not any(ord(character) < 32 and character not in "\t\n" for character in shown)


def test_a_recursion_error_has_a_traceback() -> None:
    def deeper() -> None:
        deeper()

    with pytest.raises(RecursionError) as caught:
        deeper()
    assert "RecursionError" in shown_traceback(caught.value)


def test_an_error_whose_text_raises_is_still_shown() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise SystemExit("no text")

    error = raised(Mute())
    assert shown_message(error) == "<str() of this Mute raised SystemExit>"
    assert "Mute" in shown_traceback(error)


def test_a_class_is_named_as_people_write_it() -> None:
    assert class_of(ValueError()) == "ValueError"
    assert class_of(Poison()) == "jobops.Poison"
    assert class_of(ExceptionGroup("a", [OSError()])) == "ExceptionGroup"
    assert class_of(pytest.UsageError()) == "pytest.UsageError"


def test_json_with_lone_surrogates_stays_the_same_document() -> None:
    """PX-01"""
    document = {"a": "\ud83d", "b": "🎉", "c": "\0"}
    text = storable_json(json.dumps(document, ensure_ascii=False))
    text.encode()
    assert "\0" not in text
    assert json.loads(text) == document
