"""Pausing the clock of a letter, and of all letters of a group."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from dlq.causes.counting import refresh_due
from dlq.clock.group_batches import clock_batch
from dlq.clock.pauses import inherit_pauses
from dlq.clock.pausing import group_clock_pause, group_clock_resume, letter_clock_pause, letter_clock_resume
from dlq.errors import InvalidAction, WrongState
from dlq.models import DeadLetter, DeadLetterGroup, LetterChange
from dlq.owners import spreading
from dlq.owners.spreading import run_changes
from dlq.services import letter_discard
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tests.dlq.clock.clocks import group, letter
from tests.dlq.letters import unsaved
from tests.dlq.replays import dead
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def in_hours(count: float) -> datetime:
    return timezone.now() + timedelta(hours=count)


def counted(it: DeadLetterGroup) -> DeadLetterGroup:
    """The group with the due time of its letters."""
    DeadLetterGroup.objects.filter(pk=it.pk).update(open=it.letters.count())
    with transaction.atomic():
        refresh_due([it.pk])
    it.refresh_from_db()
    return it


def holds(it: DeadLetter) -> bool:
    """Whether the due time is the death's, the SLA's and the pauses', to the second."""
    it.refresh_from_db()
    return it.due_at == it.dead_at + timedelta(seconds=it.sla_s + it.clock_paused_s)


def test_a_pause_moves_the_due_times_of_the_letter_and_its_group_and_is_in_the_audit() -> None:
    cause, who = group(), person()
    it = letter(group=cause)
    counted(cause)
    until = in_hours(48)
    answer = letter_clock_pause(letter_id=it.pk, by=who, reason=" the provider mends it\0 ", until=until)
    before = it.due_at
    assert holds(it)
    assert (it.due_at, it.clock_paused_until) == (answer.due_at, until)
    assert it.due_at - before == pytest.approx(timedelta(hours=48), abs=timedelta(seconds=60))
    cause.refresh_from_db()
    assert cause.due_at == it.due_at
    row = AuditEntry.objects.get(action="letter.clock_pause")
    assert (row.actor, row.reason, row.target_id) == (
        who.get_username(),
        "the provider mends it\\x00",
        str(it.pk),
    )
    assert row.before == {"due_at": before.isoformat(), "paused_until": None}
    assert row.after == {"due_at": it.due_at.isoformat(), "paused_until": until.isoformat()}


def test_resumed_early_its_due_time_is_what_it_was_but_for_the_time_it_stood_still() -> None:
    it = letter()
    before = it.due_at
    letter_clock_pause(letter_id=it.pk, by="tests", reason="r", until=in_hours(48))
    letter_clock_resume(letter_id=it.pk, by="tests")
    assert holds(it)
    assert before <= it.due_at <= before + timedelta(seconds=60)
    assert (it.clock_paused_at, it.clock_paused_until, it.clock_pause_reason) == (None, None, "")
    assert AuditEntry.objects.filter(action="letter.clock_resume", reason="r").exists()
    with pytest.raises(InvalidAction, match="not paused"):
        letter_clock_resume(letter_id=it.pk, by="tests")


@pytest.mark.parametrize(
    ("reason", "hours", "field"),
    [("", 1, "reason"), ("  ", 1, "reason"), ("x" * 201, 1, "reason"), ("r", -0.001, "until"), ("r", 24 * 91, "until")],
)
def test_a_pause_needs_a_reason_and_an_end_that_is_to_come_and_not_too_far(
    reason: str, hours: float, field: str
) -> None:
    it, cause = letter(), group()
    for pause in (
        lambda: letter_clock_pause(letter_id=it.pk, by="tests", reason=reason, until=in_hours(hours)),
        lambda: group_clock_pause(group_id=cause.pk, by="tests", reason=reason, until=in_hours(hours)),
    ):
        with pytest.raises(InvalidAction) as refusal:
            pause()
        assert refusal.value.field == field
    assert DeadLetter.objects.get().clock_paused_s == 0
    assert not LetterChange.objects.exists()


def test_a_time_without_its_zone_is_refused() -> None:
    with pytest.raises(InvalidAction, match="zone"):
        letter_clock_pause(letter_id=letter().pk, by="tests", reason="r", until=in_hours(1).replace(tzinfo=None))


def test_the_clock_of_a_drained_letter_has_stopped() -> None:
    it = letter()
    letter_clock_pause(letter_id=it.pk, by="tests", reason="r", until=in_hours(9))
    letter_discard(letter_id=it.pk, by="tests", reason="r")
    with pytest.raises(WrongState, match="its clock has stopped"):
        letter_clock_pause(letter_id=it.pk, by="tests", reason="r", until=in_hours(1))
    with pytest.raises(WrongState, match="its clock has stopped"):
        letter_clock_resume(letter_id=it.pk, by="tests")
    with pytest.raises(DeadLetter.DoesNotExist):
        letter_clock_pause(letter_id=it.pk + 9, by="tests", reason="r", until=in_hours(1))


def test_a_group_pauses_all_its_letters_and_lets_them_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "BATCH", 3)
    monkeypatch.setattr(spreading, "INLINE", 6)
    cause = group()
    its = [letter(group=cause) for _ in range(10)]
    drained, other = letter(group=cause, state="discarded"), letter(group=group())
    counted(cause)
    until = in_hours(48)
    paused = group_clock_pause(group_id=cause.pk, by="command:root", reason="provider", until=until)
    assert (paused.clock_paused_until, paused.clock_paused_by) == (until, "command:root")
    while run_changes():
        pass
    assert all(holds(it) and it.clock_paused_until == until for it in its)
    assert not any(each.clock_paused_s for each in DeadLetter.objects.filter(pk__in=[drained.pk, other.pk]))
    cause.refresh_from_db()
    assert cause.due_at == min(it.due_at for it in its)
    group_clock_resume(group_id=cause.pk, by="tests")
    while run_changes():
        pass
    assert all(holds(it) and it.clock_paused_until is None and it.clock_paused_s <= 60 for it in its)
    actions = AuditEntry.objects.filter(target_kind="group").order_by("pk").values_list("action", "actor", "reason")
    assert list(actions) == [
        ("group.clock_pause", "command:root", "provider"),
        ("group.clock_resume", "tests", "provider"),
    ]
    with pytest.raises(InvalidAction, match="not paused"):
        group_clock_resume(group_id=cause.pk, by="tests")


def test_a_resumption_ends_a_pause_that_is_half_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlq.clock.group_pausing.change_run", lambda change_id: 0)
    cause = group()
    its = [letter(group=cause) for _ in range(4)]
    group_clock_pause(group_id=cause.pk, by="tests", reason="r", until=in_hours(48))
    run_changes(2)
    assert DeadLetter.objects.filter(clock_paused_s__gt=0).count() == 2
    group_clock_resume(group_id=cause.pk, by="tests")
    while run_changes(2):
        pass
    assert all(holds(it) and it.clock_paused_s <= 60 and it.clock_paused_until is None for it in its)


def test_a_letters_own_longer_pause_survives_its_groups() -> None:
    cause = group()
    own, short = letter(group=cause), letter(group=cause)
    letter_clock_pause(letter_id=own.pk, by="tests", reason="own", until=in_hours(72))
    letter_clock_pause(letter_id=short.pk, by="tests", reason="own", until=in_hours(1))
    group_clock_pause(group_id=cause.pk, by="tests", reason="all", until=in_hours(48))
    assert holds(own)
    assert holds(short)
    assert (own.clock_pause_reason, short.clock_pause_reason) == ("own", "all")
    group_clock_resume(group_id=cause.pk, by="tests")
    assert holds(own)
    assert holds(short)
    assert (own.clock_pause_reason, short.clock_paused_until) == ("own", None)


def test_moving_the_end_moves_all_of_it() -> None:
    cause = group()
    it = letter(group=cause)
    for hours in (48, 72, 2):
        until = in_hours(hours)
        group_clock_pause(group_id=cause.pk, by="tests", reason="r", until=until)
        assert holds(it)
        assert it.clock_paused_until == until
        assert it.clock_paused_s == pytest.approx(hours * 3600, abs=60)


def test_what_dies_while_its_group_is_paused_is_paused_with_it() -> None:
    cause = group()
    group_clock_pause(group_id=cause.pk, by="tests", reason="r", until=in_hours(48))
    cause.refresh_from_db()
    now = timezone.now()
    new, other = (
        unsaved(None, group=its, dead_at=now, due_at=now + timedelta(hours=4), sla_s=14400) for its in (cause, group())
    )
    inherit_pauses([new, other])
    assert (new.clock_paused_until, new.clock_pause_reason) == (cause.clock_paused_until, "r")
    assert (other.clock_paused_until, other.clock_paused_s) == (None, 0)
    new.save()
    assert holds(new)
    group_clock_resume(group_id=cause.pk, by="tests")
    assert holds(new)
    assert (new.clock_paused_until, new.clock_paused_s <= 60) == (None, True)


def test_a_pause_that_is_over_is_not_inherited() -> None:
    cause = group(clock_paused_at=in_hours(-9), clock_paused_until=in_hours(-1), clock_pause_reason="r")
    new = unsaved(None, group=cause)
    inherit_pauses([new])
    assert (new.clock_paused_s, new.clock_paused_until) == (0, None)


def test_a_batch_that_is_done_twice_is_done_once() -> None:
    """Whoever did it may be killed after the letters and before it was noted."""
    cause = group()
    its = [letter(group=cause) for _ in range(3)]
    group_clock_pause(group_id=cause.pk, by="tests", reason="r", until=in_hours(9))
    assert [holds(it) for it in its] == [True] * 3
    dues = [it.due_at for it in its]
    assert clock_batch(LetterChange.objects.latest("pk"), its) == 0
    group_clock_resume(group_id=cause.pk, by="tests")
    assert [holds(it) for it in its] == [True] * 3
    assert clock_batch(LetterChange.objects.latest("pk"), its) == 0
    assert all(it.due_at < due for it, due in zip(its, dues, strict=True))


def test_the_intake_pauses_what_dies_of_a_paused_cause(both: Engine) -> None:
    first = dead(both)
    assert first.group_id is not None
    group_clock_pause(group_id=first.group_id, by="tests", reason="provider", until=in_hours(48))
    second, other = dead(both), dead(both, outcome=Outcome.failed("error", "KeyError", "no such customer", "…"))
    assert (second.group_id == first.group_id, other.group_id == first.group_id) == (True, False)
    assert holds(second)
    assert (second.clock_pause_reason, other.clock_paused_until) == ("provider", None)
    assert second.clock_paused_s == pytest.approx(48 * 3600, abs=60)
