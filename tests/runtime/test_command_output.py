"""What commands print arrives, whatever the terminal's encoding has no form for."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command

from dlq.models import DeadLetter
from tests.dlq.letters import letter

pytestmark = pytest.mark.django_db

ODD = "caf\u00e9 \U0001f389 \u2022"


def printed(encoding: str, *arguments: str) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding)
    call_command(*arguments, stdout=out)
    out.flush()
    return raw.getvalue().decode(encoding)


@pytest.fixture
def odd() -> DeadLetter:
    return letter(None, error=ODD, payload=json.dumps({"args": [], "kwargs": {"value": ODD, "card": "\ud800"}}))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp1252"])
def test_json_is_the_same_document_in_every_encoding(odd: DeadLetter, encoding: str) -> None:
    """PX-01: a lone surrogate too."""
    shown = json.loads(printed(encoding, "dlq", "show", str(odd.pk), "--json"))
    assert (shown["error"], shown["arguments"]) == (ODD, {"value": ODD, "card": "\ud800"})
    assert json.loads(printed(encoding, "dlq", "list", "--json"))[0]["error"] == ODD
    assert json.loads(printed(encoding, "dlq", "export"))["arguments"] == {"value": ODD, "card": "\ud800"}


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_words_are_spelled_out_where_they_cannot_be_written(odd: DeadLetter, encoding: str) -> None:
    for arguments in (("show", str(odd.pk)), ("list",), ("export", "--format", "csv")):
        assert printed(encoding, "dlq", *arguments)
    shown = printed(encoding, "dlq", "show", str(odd.pk))
    assert (ODD if encoding == "utf-8" else "caf\\u00e9 \\ud83c\\udf89 \\u2022") in shown
