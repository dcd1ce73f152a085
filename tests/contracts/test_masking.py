"""What is secret is found in whatever form a text repeats it. (How it is shown: the tests of pages and commands.)"""

from __future__ import annotations

import json
import time
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from jobops import job
from jobops.contracts.error_text import clean
from jobops.contracts.masking import masked_text, secrets_of, shown_arguments
from jobops.contracts.secret_values import DOTS, MOST_SECRETS
from tests.contracts.samples import GOOD


@pytest.mark.parametrize(
    "value",
    ['it\'s\n"quoted"', "naïve ünïcödé", "bell\x07 here", 4242, Decimal("12.3400"), date(1999, 12, 31)],
    ids=repr,
)
def test_a_value_is_hidden_as_it_was_printed_as_repr_and_as_json(value: Any) -> None:
    secrets = secrets_of(None, [value], {})
    stored = clean(f"got {value}!", 200)
    for text in (
        stored,
        f"got {value}!",
        f"got {[value]}!" if isinstance(value, str) else "",
        json.dumps(value, default=str),
    ):
        hidden = masked_text(text, secrets)
        assert hidden.replace(DOTS, "").strip("got[]\"!' ") == ""


def test_arguments_are_masked_by_contract_by_name_and_by_form() -> None:
    @job(**GOOD, redact=["note"])
    def charge(amount: int, /, note: str, *urls: str, **more: Any) -> None: ...

    shown = shown_arguments(charge.job_type, (5, "n", "https://a:b@c/d"), {"token": "t", "colour": "red"})
    assert [(each.name, each.value, each.masked) for each in shown] == [
        ("amount", 5, False), ("note", DOTS, True), ("urls[0]", f"https://{DOTS}@c/d", True), ("token", DOTS, True),
        ("colour", "red", False),
    ]  # fmt: skip
    assert not any(each.masked for each in shown_arguments(charge.job_type, (5, "n"), {"token": "t"}, mask=False))


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN"), [{"rate": Decimal("sNaN")}]])
def test_a_decimal_that_is_no_number_is_shown_as_it_is(value: Any) -> None:
    @job(**GOOD)
    def rate(value: Any) -> None: ...

    [shown] = shown_arguments(rate.job_type, (value,), {})
    assert (repr(shown.value), shown.masked) == (repr(value), False)


def test_a_long_text_without_spaces_is_masked_in_no_time() -> None:
    """PX-05: what it costs grows with the text, not with its square."""
    text = "y" * 3_000_000
    began = time.perf_counter()
    assert masked_text(text + "redis://:s3cret@host") == f"{text}redis://{DOTS}@host"
    assert time.perf_counter() - began < 10


def test_a_secret_is_hidden_in_every_other_argument_too() -> None:
    """SE-06: at any depth, as a key, and as the number or the date that it is."""

    @job(**GOOD, redact=["card", "pin", "born"])
    def pay(card: str, pin: int, born: date, **more: Any) -> None: ...

    more = {
        "note": "card 4242-4242 again",
        "deep": [{"4242-4242": "x", "list": ["4242-4242"]}],
        "code": 90210,
        "amount": 902105,
        "since": date(1999, 12, 31),
        "calm": "nothing",
    }
    args = ("4242-4242", 90210, date(1999, 12, 31))
    shown = {each.name: (each.value, each.masked) for each in shown_arguments(pay.job_type, args, more)}
    assert shown == {
        "card": (DOTS, True), "pin": (DOTS, True), "born": (DOTS, True),
        "note": (f"card {DOTS} again", True), "deep": ([{DOTS: "x", "list": [DOTS]}], True),
        "code": (DOTS, True), "amount": (902105, False), "since": (DOTS, True), "calm": ("nothing", False),
    }  # fmt: skip
    assert shown_arguments(pay.job_type, args, more, mask=False)[3].value == "card 4242-4242 again"


def test_where_there_are_too_many_secrets_no_argument_is_shown() -> None:
    @job(**GOOD, redact=["cards"])
    def pay(cards: list[int], note: str) -> None: ...

    many = list(range(10_000, 10_001 + MOST_SECRETS))
    shown = shown_arguments(pay.job_type, (many, "card 10007"), {})
    assert [(each.value, each.masked) for each in shown] == [(DOTS, True)] * 2
