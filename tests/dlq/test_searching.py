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


@pytest.mark.parametrize("few", [searching.FEW, 0])
def test_a_letter_is_found_by_its_number_and_so_is_what_holds_that_number(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "FEW", few)
    tenant = new_tenant("acme")
    wanted = letter(tenant, pk=58112, job_id="wanted", error="refused")
    letter(tenant, job_id="beside", error="refused")
    letter(tenant, job_id="other", error=f"invoice no. {wanted.pk} is unknown")
    for text in (f"{wanted.pk}", f"No. {wanted.pk}", f"#{wanted.pk}"):
        assert found(text) >= {"wanted"}, text
        assert "beside" not in found(text), text
    assert found(f"No. {wanted.pk}") == {"wanted", "other"}
    assert found(f"No. {wanted.pk} refused") == {"wanted"}
    assert found("no. unknown") == {"other"}
    assert found("9" * 19) == found("9" * 18) == set()


@pytest.mark.parametrize("text", ['"', '" {', "- - -", "…"])
def test_signs_alone_find_nothing_and_beside_a_word_they_do_not_count(text: str) -> None:
    """The arguments are stored as JSON: a quotation mark stands in every letter."""
    letter(new_tenant("acme"), job_id="plain", error='said "no" - often', payload='{"args": [], "kwargs": {"a": "b"}}')
    assert found(text) == set()
    assert found(f"{text} often") == {"plain"}
    assert found(f"{text} seldom") == set()


@pytest.mark.parametrize("few", [searching.FEW, 1, 0])
def test_of_very_many_only_the_newest_are_searched_and_those_that_are_named(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list, its counts and what is done to all that match go by the same letters."""
    monkeypatch.setattr(searching, "FEW", few)
    tenant = new_tenant("acme")
    made = [letter(tenant, job_id=f"job-{number}", error="refused by 503") for number in range(6)]
    monkeypatch.setattr(searching, "NEWEST", 2)
    old, since = made[0], made[4].pk
    assert found("refused") == {"job-4", "job-5"}
    assert found("job-0") == {"job-0"}, "named by its job"
    assert found(f"#{old.pk} refused") >= {"job-0"}, "and by its number"
    assert found(f"#{old.pk} accepted") == set()
    search, deep = searching.search("refused"), searching.search("refused", deep=True)
    assert search is not None
    assert deep is not None
    assert (search.since, deep.since) == (since, None)
    everything = DeadLetter.objects.all()
    deep_filter = LetterFilter(q="refused", deep=True)
    assert deep_filter.apply(everything).count() == 6
    assert sum(len(part) for part in deep_filter.parts(everything)) == 6
    monkeypatch.setattr(searching, "NEWEST", old.pk + 100)
    complete = searching.search("refused")
    assert complete is not None
    assert complete.since is None
