"""Searching: every word must occur, to the letter, whichever way the letters are then read."""

from __future__ import annotations

import pytest

from dlq import searching
from dlq.filters import LetterFilter
from dlq.models import DeadLetter
from tests.dlq.letters import letter
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db


def found(text: str) -> set[str]:
    wanted, everything = LetterFilter(q=text), DeadLetter.objects.all()
    whole = {row.job_id for row in wanted.apply(everything)}
    assert {row.job_id for part in wanted.parts(everything) for row in part} == whole
    return whole


@pytest.mark.parametrize("few", [searching.FEW, 0])
def test_words_are_looked_for_as_they_are(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when more are found than are named one by one; nothing in a word is a pattern."""
    monkeypatch.setattr(searching, "FEW", few)
    tenant = new_tenant("acme")
    letter(tenant, job_id="stars", error="a*b [x] 100% is_it? Größe")
    letter(tenant, job_id="plain", error="axxb 1000 isnit!")
    for text, ids in {
        "a*b": {"stars"},
        "[x]": {"stars"},
        "100%": {"stars"},
        "is_it?": {"stars"},
        "it?": {"stars"},
        "GRÖSSE": set(),
        "GRÖße": {"stars"},
        "a?xb": set(),
        "axx b": {"plain"},
        "\\": set(),
        "'; --": set(),
    }.items():
        assert found(text) == ids, text
    assert found("  ") == {"stars", "plain"}
