"""What may not be seen of arguments, results and errors."""

from __future__ import annotations

from typing import Any

import pytest

from dlq.payloads import secrets_in
from jobops.contracts import masking
from jobops.contracts.secret_values import DOTS, UNREADABLE


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"password": "a", "n": 1}, {"password": DOTS, "n": 1}),
        ({"deep": [{"API_KEY": "a"}, {"Authorization": "b"}]}, {"deep": [{"API_KEY": DOTS}, {"Authorization": DOTS}]}),
        ("redis://:s3cret@host/0", f"redis://{DOTS}@host/0"),
        ("https://ada:pw@host/x?y=1 and more", f"https://{DOTS}@host/x?y=1 and more"),
        ("mail ada@example.org at 10:30", "mail ada@example.org at 10:30"),
        ([1, None, True, 2.5], [1, None, True, 2.5]),
        ({"passenger": "Ada"}, {"passenger": "Ada"}),
    ],
)
def test_what_has_the_name_or_the_form_of_a_secret_is_hidden_at_any_depth(value: Any, shown: Any) -> None:
    """SE-06."""
    assert masking.masked_value(value) == shown


def test_a_text_loses_the_hidden_values_the_longest_first() -> None:
    secrets = masking.secrets_of(None, ["abcd"], {"token": ["abcdefgh", 12345], "note": "x"})
    assert secrets.values == ["abcdefgh", "12345", "abcd"]
    assert masking.masked_text("abcdefgh abcd 12345 x", secrets) == f"{DOTS} {DOTS} {DOTS} x"


def test_where_a_payload_cannot_be_read_every_text_is_hidden() -> None:
    """PX-07, SE-06: nobody knows what in it is secret."""
    for payload in ("", "null", "[]", '{"args": 3}', "{"):
        assert secrets_in("a", payload).hide("card 4242") == UNREADABLE
