"""Closing letters for good, with a reason, and opening them again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from dlq.errors import InvalidAction, NotReplayable, WrongState
from dlq.models import DeadLetter
from dlq.retention import kept_for
from dlq.services import discard_batch, letter_discard, letter_replay, letter_undo, undo_batch
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.dlq.replays import TYPE, dead, replaying, run_of, run_replays
from tests.runtime import factory
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_discard_is_undone_with_the_old_clock(both: Engine) -> None:
    letter, who = dead(both), person()
    letter_discard(letter_id=letter.pk, by=who, reason="  the customer left\0 ")
    closed = DeadLetter.objects.get()
    assert (closed.state, closed.discard_reason) == ("discarded", "the customer left\\x00")
    assert (closed.drained_by, closed.is_undrained) == (who.get_username(), False)
    assert closed.drained_at is not None
    letter_undo(letter_id=letter.pk, by="command:root")
    opened = DeadLetter.objects.get()
    assert (opened.state, opened.discard_reason, opened.drained_by, opened.drained_at) == ("open", "", "", None)
    assert (opened.dead_at, opened.due_at) == (letter.dead_at, letter.due_at)
    told = AuditEntry.objects.order_by("pk").values_list("action", "actor", "reason", "before__state", "after__state")
    assert [row for row in told if row[0].startswith("letter.")] == [
        ("letter.discard", who.get_username(), "the customer left\\x00", "open", "discarded"),
        ("letter.undo", "command:root", "", "discarded", "open"),
    ]


@pytest.mark.parametrize("reason", ["", " \n\t", "x" * 501])
def test_a_discard_needs_a_reason_that_can_be_read(both: Engine, reason: str) -> None:
    letter = dead(both)
    with pytest.raises(InvalidAction) as refusal:
        letter_discard(letter_id=letter.pk, by="tests", reason=reason)
    assert refusal.value.field == "reason"
    assert DeadLetter.objects.get().state == "open"
    assert not AuditEntry.objects.filter(action="letter.discard").exists()


def test_an_undo_after_a_month_is_refused(both: Engine) -> None:
    letter = letter_discard(letter_id=dead(both).pk, by="tests", reason="r")
    DeadLetter.objects.update(drained_at=timezone.now() - kept_for() - timedelta(seconds=5))
    with pytest.raises(InvalidAction, match="more than 30 days ago"):
        letter_undo(letter_id=letter.pk, by="tests")
    DeadLetter.objects.update(drained_at=timezone.now() - kept_for() + timedelta(minutes=1))
    assert letter_undo(letter_id=letter.pk, by="tests").state == "open"


def test_what_is_being_replayed_cannot_be_discarded(both: Engine) -> None:
    """DL-17: it is refused, and how the run ends decides; it is never retried behind a closed letter."""
    letter = replaying(both)
    with pytest.raises(WrongState, match="already being replayed"):
        letter_discard(letter_id=letter.pk, by="tests", reason="r")
    run_replays(both)
    letter.refresh_from_db()
    assert (letter.state, run_of(letter).state) == ("resolved", "succeeded")
    with pytest.raises(WrongState, match="already resolved"):
        letter_discard(letter_id=letter.pk, by="tests", reason="r")
    with pytest.raises(WrongState, match="already resolved"):
        letter_replay(letter_id=letter.pk, by="tests")


def test_a_discard_is_of_letters_and_not_of_deaths_to_come(both: Engine) -> None:
    """DL-08: the same error again makes letters that are open, and can be replayed; discarded ones cannot."""
    first = [dead(both) for _ in range(5)]
    with transaction.atomic():
        assert set(discard_batch(first, "tests", "known").values()) == {""}
    later = [dead(both) for _ in range(3)]
    assert {letter.state for letter in later} == {"open"}
    for letter in later:
        letter_replay(letter_id=letter.pk, by="tests")
    with pytest.raises(WrongState, match="already discarded"):
        letter_replay(letter_id=first[0].pk, by="tests")
    assert len(run_replays(both)) == 3


def test_a_discard_leaves_the_key_free(both: Engine) -> None:
    """DL-10, DL-09: neither the dead letter nor its discard holds up the next job with the key."""
    letter = dead(both, key="every-minute")
    letter_discard(letter_id=letter.pk, by="tests", reason="r")
    again = both.scripts.enqueue(factory.new_job(lane="bulk", job_type=TYPE, key="every-minute"))
    assert again.state == "queued"
    letter_undo(letter_id=letter.pk, by="tests")
    with pytest.raises(NotReplayable, match="a live job holds its key"):
        letter_replay(letter_id=letter.pk, by="tests")


def test_the_actual_state_counts_whatever_a_page_showed(both: Engine) -> None:
    """DL-18: the page was opened while the replay ran; it has died since, so the button works."""
    letter = replaying(both)
    run_replays(both, Outcome.failed("poison", "E", "e"))
    assert letter_replay(letter_id=letter.pk, by="tests").number == 2


def test_one_and_many_go_by_the_same_rules(both: Engine) -> None:
    """DL-13: what a batch leaves alone, it says, in the words of the single refusal."""
    free, busy, closed = dead(both), replaying(both), dead(both)
    letter_discard(letter_id=closed.pk, by="tests", reason="r")
    letters = list(DeadLetter.objects.order_by("pk"))
    with transaction.atomic():
        answer = discard_batch(letters, "tests", "all of them")
    assert answer == {free.pk: "", busy.pk: "already being replayed", closed.pk: "already discarded"}
    with transaction.atomic():
        answer = undo_batch(list(DeadLetter.objects.order_by("pk")), "tests")
    assert answer == {free.pk: "", busy.pk: "already being replayed", closed.pk: ""}
    assert AuditEntry.objects.filter(action="letter.undo").count() == 2
