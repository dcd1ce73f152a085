"""Values are hidden wherever a text repeats them, also where half of one is left, and whatever the text holds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq.text import capped
from jobops.contracts.error_text import MESSAGE_LIMIT, clean
from jobops.contracts.masking import masked_text
from jobops.contracts.secret_values import DOTS, MOST_SECRETS, SHORTEST_SECRET, TOO_MANY, UNREADABLE, Secrets
from jobops.engine.scripts import BRIEF

SECRET = "4242-abcd-9876-wxyz"
FEW_LETTERS = st.text("ab", max_size=12)


@given(st.lists(FEW_LETTERS, max_size=40), st.text("ab", max_size=60))
def test_no_value_is_left_in_a_text(values: list[str], text: str) -> None:
    hidden = Secrets(values).hide(text)
    assert not any(value in hidden for value in values if len(value) >= SHORTEST_SECRET)


@given(st.lists(st.text("abc", min_size=4, max_size=9), min_size=17, max_size=60, unique=True), st.text("abc"))
def test_many_values_are_found_as_a_few_of_them_are(values: list[str], text: str) -> None:
    """The index hides what looking for one after the other would."""
    found = [(at, at + len(value)) for value in values for at in range(len(text)) if text.startswith(value, at)]
    left = [letter for at, letter in enumerate(text) if not any(begin <= at < end for begin, end in found)]
    assert Secrets(values).hide(text).replace(DOTS, "") == "".join(left)


def test_values_that_overlap_are_hidden_whole() -> None:
    assert Secrets(["abcd-efgh", "efgh-ijkl"]).hide("<abcd-efgh-ijkl>") == f"<{DOTS}>"
    assert Secrets(["abcd"]).hide("abcdabcd x") == f"{DOTS}{DOTS} x"


@pytest.mark.parametrize("kept", [4, 9, 15])
@pytest.mark.parametrize("others", [0, 40])
def test_half_of_a_value_beside_a_cut_is_hidden(kept: int, others: int) -> None:
    """SE-06: on either side, whoever cut it."""
    secrets = Secrets([SECRET, *(f"other-{number}" for number in range(others))])
    filler = "." * 3_000
    middle = MESSAGE_LIMIT // 2
    for cut in (clean, capped):
        head_cut = cut("." * (middle - 30) + SECRET * 3 + filler, MESSAGE_LIMIT)
        tail_cut = cut(filler + SECRET * 3 + "." * (middle - 30), MESSAGE_LIMIT)
        for text in (head_cut, tail_cut):
            assert "4242" in text or "wxyz" in text, "the cut is within the value"
            hidden = secrets.hide(text)
            assert not any(SECRET[at : at + 4] in hidden for at in range(len(SECRET) - 3))
    for mark in (" [cut] ", "\n… 12 characters left out …\n"):
        text = f"{filler}{SECRET[:kept]}{mark}{SECRET[-kept:]}{filler}"
        assert secrets.hide(text) == f"{filler}{DOTS}{mark}{DOTS}{filler}"


def test_half_of_a_value_at_the_end_of_a_text_that_may_be_cut_is_hidden() -> None:
    """The engine keeps the first part of an attempt's error, and says nothing of the rest."""
    text = ("." * (BRIEF - 7) + SECRET)[:BRIEF]
    assert Secrets([SECRET]).hide(text) == text[:-7] + DOTS
    assert Secrets([SECRET]).hide("short 4242-ab") == "short 4242-ab"


def test_a_text_that_was_cut_many_times_is_hidden_whole() -> None:
    assert Secrets([SECRET]).hide("4242-a [cut] " * 100) == DOTS


def test_of_too_many_values_none_is_looked_for() -> None:
    many = Secrets(f"value-{number}" for number in range(10**9))
    assert many.hide("value-7") == TOO_MANY
    assert many.hide(" ") == " "
    assert Secrets(f"value-{number}" for number in range(MOST_SECRETS)).hide("is value-7.") == f"is {DOTS}."
    assert Secrets(instead=UNREADABLE).hide("anything") == UNREADABLE


_HOSTILE = [
    "a" * 65_536, "ab" * 32_768, " [cut] " * 9_362, "\n… 1" * 16_384, "a://b:" * 10_922, "://:" * 16_384,
    "://a:b" * 10_922, "a" * 40_000 + " [cut] " + "a" * 25_000, "://" + ":" * 65_000, "\\" * 65_536, "aaaab" * 13_107,
]  # fmt: skip
_VALUES = [
    [SECRET],
    ["a" * 30_000 + "b", "b" + "a" * 30_000],
    ["a" * length for length in range(4, 700)],
    ["a" * length + "A" for length in range(4, 700)],
    ["a" * 60 + f"{number:04}" for number in range(MOST_SECRETS)],
    ["a" * 300 + f"{number:04}" for number in range(800)],
]


@pytest.mark.parametrize("values", _VALUES, ids=lambda values: f"{len(values)}x{len(values[-1])}")
def test_no_text_takes_long_whatever_it_repeats(values: list[str]) -> None:
    """PX-05"""
    secrets = Secrets(values)
    began = time.process_time()
    for text in _HOSTILE:
        masked_text(text, secrets)
    assert time.process_time() - began < 10
