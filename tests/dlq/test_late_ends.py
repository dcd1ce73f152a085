"""Replays that were taken for lost, and end after all when a person has dealt with their letter."""

from __future__ import annotations

import pytest
from django.utils import timezone

from dlq.endings import Ending, settle
from dlq.errors import WrongState
from dlq.models import DeadLetter, ReplayRun
from dlq.services import letter_discard, letter_replay, letter_undo
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.engine.records import ClaimedJob, Outcome
from tests.dlq.replays import FAILED, replaying, run_of, run_replays
from tests.runtime import factory

pytestmark = pytest.mark.django_db(transaction=True)


def lost(engine: Engine) -> tuple[DeadLetter, ClaimedJob]:
    """A letter whose replay the watch took for lost, and the job, which runs still."""
    letter = replaying(engine)
    job = factory.claim(engine)
    assert job is not None
    settle([Ending(letter.replay_job_id, ReplayRun.State.LOST, timezone.now(), error="gone", by_watch=True)])
    return DeadLetter.objects.get(pk=letter.pk), job


def ends(engine: Engine, job: ClaimedJob, outcome: Outcome) -> None:
    factory.settle(engine, job, outcome)
    run_replays(engine)


def test_a_late_success_resolves_a_letter_that_was_discarded_meanwhile(both: Engine) -> None:
    letter, job = lost(both)
    letter_discard(letter_id=letter.pk, by="command:ann", reason="hopeless")
    ends(both, job, Outcome.succeeded())
    letter.refresh_from_db()
    assert (letter.state, letter.drained_by, letter.discard_reason) == ("resolved", "replay", "")
    assert letter.note == "Replay 1 succeeded after all, when its letter was discarded already."
    assert run_of(letter).state == "succeeded"
    row = AuditEntry.objects.get(action="letter.resolve")
    assert (row.before, row.after["replay"]) == ({"state": "discarded"}, "succeeded")
    with pytest.raises(WrongState, match="resolved"):
        letter_undo(letter_id=letter.pk, by="command:ann")


def test_an_end_by_contract_does_so_too_and_says_it(both: Engine) -> None:
    letter, job = lost(both)
    letter_discard(letter_id=letter.pk, by="tests", reason="hopeless")
    ends(both, job, Outcome.discarded("Gone", "410"))
    letter.refresh_from_db()
    assert (letter.state, letter.note) == ("resolved", "Replay 1 was ended by its contract: Gone: 410.")


def test_a_late_death_leaves_it_discarded_and_is_told_when_that_is_undone(both: Engine) -> None:
    letter, job = lost(both)
    letter_discard(letter_id=letter.pk, by="tests", reason="hopeless")
    ends(both, job, FAILED)
    letter.refresh_from_db()
    assert (letter.state, letter.discard_reason) == ("discarded", "hopeless")
    letter_undo(letter_id=letter.pk, by="tests")
    letter.refresh_from_db()
    assert (letter.state, letter.error) == ("open", "broken again")
    assert letter.note == "Replay 1 died again in attempt 1: ValueError: broken again."


def test_an_older_replays_late_success_counts_for_a_discarded_letter_as_for_an_open_one(both: Engine) -> None:
    letter, job = lost(both)
    letter_replay(letter_id=letter.pk, by="tests")
    run_replays(both, FAILED)
    letter_discard(letter_id=letter.pk, by="tests", reason="hopeless")
    ends(both, job, Outcome.succeeded())
    letter.refresh_from_db()
    assert letter.state == "resolved"
    assert [run.state for run in ReplayRun.objects.order_by("number")] == ["succeeded", "died"]
