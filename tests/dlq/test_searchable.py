"""What a search finds, and that it never finds a secret."""

from __future__ import annotations

from typing import Any

import pytest

from dlq.intake import take_in
from dlq.models import DeadLetter, SearchText
from dlq.searchable import TEXT_LENGTH, search_text, words_of
from dlq.searching import matching
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from tests.dlq.deaths import die
from tests.dlq.replays import TYPE, dead

pytestmark = pytest.mark.django_db(transaction=True)


def found(text: str) -> set[int]:
    return set(matching(DeadLetter.objects.all(), text).values_list("pk", flat=True))


def failing(engine: Engine, error: str, **arguments: Any) -> DeadLetter:
    outcome = Outcome.failed("poison", "shop.Refused", error, "Traceback …")
    job_id = die(engine, job_type=TYPE, data=encode(TYPE, [], arguments), outcome=outcome)
    take_in(engine)
    return DeadLetter.objects.get(job_id=job_id)


def test_every_word_must_occur_somewhere_in_any_case(both: Engine) -> None:
    first = failing(both, "Payment of 12,50 € REFUSED by Straße", number=7)
    second = failing(both, "payment accepted", number=81234)
    assert found("payment") == {first.pk, second.pk} == found("")
    assert found("refused 12,50") == {first.pk} == found("STRASSE") | found("straße")
    assert found("81234 Payment") == {second.pk}
    assert found("payment nowhere") == set()
    assert found(first.job_id.upper()) == {first.pk}
    assert found(f"{TYPE} c-1 shop.refused") == {first.pk, second.pk}


def test_a_secret_cannot_be_found_out_by_searching(both: Engine) -> None:
    """SE-06: neither an argument that the contract masks, nor where the error repeats it, nor a login in a URL."""
    failing(both, "card 4242-4242 at https://ada:hunter2@pay.example/x", number=7, card="4242-4242")
    for secret in ("4242", "hunter2", "ada:"):
        assert found(secret) == set()
    assert len(found("pay.example")) == 1


def test_signs_of_a_pattern_language_are_only_text(both: Engine) -> None:
    failing(both, "100% of a_b", number=1), failing(both, "nothing", number=2)
    assert len(found("100%")) == len(found("a_b")) == 1
    assert found("a_") == found("a_b")
    assert found("' OR 1=1 --") == set()


def test_what_cannot_be_seen_is_looked_for_as_it_is_stored(both: Engine) -> None:
    """PX-01: a NUL in a search is neither a refusal of the database nor everything."""
    letter = failing(both, "a\0b", number=1)
    assert found("a\0b") == {letter.pk}
    assert found("\ud800") == set()
    assert words_of("w " * 50) == ["w"] * 10


def test_a_text_is_capped_whatever_there_is_to_tell(both: Engine) -> None:
    """PX-05"""
    letter = failing(both, "e" * 4000, number="n" * 200_000)
    text = SearchText.objects.get().text
    assert len(text) <= TEXT_LENGTH
    assert text == search_text(letter)
    assert letter.job_id in text
    assert "nnn" in text


def test_a_text_that_cannot_be_made_costs_the_letter_only_its_words(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(letter: DeadLetter) -> str:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr("dlq.inserting.search_text", odd)
    letter = dead(both)
    assert not letter.placeholder
    assert found(letter.job_id) == {letter.pk}
