"""Many failures at once, each with much to say."""

from __future__ import annotations

import pytest
from django.db.models import Max
from django.db.models.functions import Length

from dlq.intake import take_in
from dlq.letters import ERROR_LENGTH, TRACEBACK_LENGTH
from dlq.models import DeadLetter, SearchText
from dlq.searchable import TEXT_LENGTH
from jobops.contracts.error_text import MESSAGE_LIMIT, TRACEBACK_LIMIT, clean
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.dlq.deaths import die, multiply, record_of_a_death, waiting

pytestmark = pytest.mark.django_db(transaction=True)

BUDGET = 20 * 1024
"""Bytes of Redis's memory for one death that the database has."""


def test_a_burst_of_huge_errors_fills_neither_store(both: Engine) -> None:
    """PX-04: the texts are capped, head and tail kept, no job is lost, and Redis keeps little of each for its days."""
    error, traceback = clean("e" * 200_000, MESSAGE_LIMIT), clean("a" + "t" * 200_000 + "z", TRACEBACK_LIMIT)
    outcome = Outcome.failed("poison", "E", error, traceback)
    multiply(both, 200, record_of_a_death(both, outcome=outcome))
    own = die(both, outcome=outcome)
    largest = both.redis.memory_usage(f"rq:job:{own}", samples=0) or 0
    assert largest < 100 * 1024, "rounded up by the allocator"
    while take_in(both):
        pass
    assert (waiting(both), DeadLetter.objects.count()) == (0, 201)
    assert both.redis.memory_usage(f"rq:job:{own}", samples=0) < BUDGET
    kept = both.redis.hget(f"rq:job:{own}", "exc_info")
    assert (kept[:2], kept[-2:], b" [cut] " in kept) == (b"at", b"tz", True)
    stored = DeadLetter.objects.aggregate(error=Max(Length("error")), traceback=Max(Length("traceback")))
    assert stored["error"] <= ERROR_LENGTH
    assert TRACEBACK_LENGTH - 100 < stored["traceback"] <= TRACEBACK_LENGTH
    assert SearchText.objects.aggregate(most=Max(Length("text")))["most"] <= TEXT_LENGTH
    letter = DeadLetter.objects.get(job_id=own)
    assert (letter.traceback[0], letter.traceback[-1]) == ("a", "z")
