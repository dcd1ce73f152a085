"""What stays of a message, and what does not."""

from __future__ import annotations

import time

import pytest

from dlq.causes.volatile import GAP, LENGTH, lasting, texts_in
from tests.dlq.causes.corpus import CAUSES


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause[0][:50])
def test_deaths_of_one_cause_say_the_same(cause: list[str]) -> None:
    assert len({lasting(message) for message in cause}) == 1
    assert lasting(cause[0])


def test_no_two_causes_melt_into_one_though_their_ids_are_gone() -> None:
    said: dict[str, list[str]] = {}
    for cause in CAUSES:
        said.setdefault(lasting(cause[0]), []).append(cause[0])
    assert [melted for melted in said.values() if len(melted) > 1] == []


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause[0][:50])
def test_what_has_lost_its_details_has_none_to_lose(cause: list[str]) -> None:
    """So that a title is the same whichever death of the cause came first."""
    once = lasting(cause[0])
    assert lasting(once) == once


def test_what_the_jobs_own_arguments_say_is_a_detail() -> None:
    values = list(texts_in({"customer": "Jan Novák", "lines": [{"sku": "blue lamp"}], "n": 4, "short": "no"}))
    assert lasting("Jan Novák ordered a blue lamp that is gone", values) == f"{GAP} ordered a {GAP} that is gone"
    assert lasting("no lamp", values) == "no lamp", "a short word says too little to be taken for an argument"


def test_an_argument_is_not_taken_out_of_longer_words() -> None:
    assert lasting("cataracts of cat", ["cat"]) == f"cataracts of {GAP}"


@pytest.mark.parametrize(("message", "is_name", "said"), [
    ("'iban'", True, "'iban'"),
    ("'user_42'", True, ""),
    ("'iban'", False, ""),
    ("", False, ""),
    ("42", False, ""),
    ("\n\n  second line  \nthird", False, "second line"),
    ("The server said:\nquota spent", False, "The server said: quota spent"),
    ("•••••••• is no password", False, f"{GAP} is no password"),
])  # fmt: skip
def test_the_first_line_that_says_something_counts(message: str, is_name: bool, said: str) -> None:
    assert lasting(message, is_name=is_name) == said


def test_a_long_message_is_cut() -> None:
    assert len(lasting("word " * 500)) == LENGTH


@pytest.mark.parametrize(
    "piece", ["'", "\"'", "a.", "…,", "1,", "/a", "<a ", "a://", "::", "a@", "a-", "'a' ", "((", "f:f"]
)
def test_no_text_takes_long(piece: str) -> None:
    """Whatever a customer gets into an error, the intake goes on: a text of a thousand characters in milliseconds."""
    began = time.process_time()
    lasting((piece * 1000)[:1000])
    assert time.process_time() - began < 0.1


def test_only_so_many_arguments_are_looked_for() -> None:
    assert len(list(texts_in([f"value {n}" for n in range(10_000)]))) == 100
