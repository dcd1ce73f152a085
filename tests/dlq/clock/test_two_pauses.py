"""A letter's own pause beside that of its group, and what a group did while a letter was drained or was another's."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from dlq.bulk import bulk_confirm, bulk_draft, bulk_undo
from dlq.clock.pausing import group_clock_pause, group_clock_resume, letter_clock_pause, letter_clock_resume
from dlq.locking import lock_letters
from dlq.models import DeadLetter
from dlq.owners import spreading
from dlq.owners.spreading import run_changes
from dlq.services import undo_batch
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, group_of, replay, take_in, undo, wrong
from tests.dlq.replaying.many import work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


@pytest.fixture
def it(acme: Tenant) -> DeadLetter:
    return take_in(acme, "torn")


def in_hours(count: float) -> datetime:
    return timezone.now() + timedelta(hours=count)


def pause_group(letter: DeadLetter, hours: float) -> None:
    assert letter.group_id is not None
    group_clock_pause(group_id=letter.group_id, by="tests", reason="all", until=in_hours(hours))


def resume_group(letter: DeadLetter) -> None:
    assert letter.group_id is not None
    group_clock_resume(group_id=letter.group_id, by="tests")


def pause_own(letter: DeadLetter, hours: float) -> None:
    letter_clock_pause(letter_id=letter.pk, by="tests", reason="own", until=in_hours(hours))


def stands(letter: DeadLetter) -> tuple[int, str]:
    """By how many whole hours its pauses put it off, and the reason of the one that it is in."""
    letter.refresh_from_db()
    assert letter.due_at == letter.dead_at + timedelta(seconds=letter.sla_s + letter.clock_paused_s)
    assert wrong() == []
    assert abs(letter.clock_paused_s - round(letter.clock_paused_s / 3600) * 3600) < 60
    return round(letter.clock_paused_s / 3600), letter.clock_pause_reason


def test_the_end_of_a_groups_pause_leaves_a_longer_one_of_a_letter(it: DeadLetter) -> None:
    pause_group(it, 1)
    pause_own(it, 5)
    resume_group(it)
    assert stands(it) == (5, "own")


def test_moving_the_end_of_a_groups_pause_leaves_a_longer_one_of_a_letter(it: DeadLetter) -> None:
    pause_group(it, 1)
    pause_own(it, 5)
    pause_group(it, 2)
    assert stands(it) == (5, "own")
    resume_group(it)
    assert stands(it) == (5, "own")


def test_a_pause_of_its_own_within_its_groups_is_its_own_word(it: DeadLetter) -> None:
    pause_group(it, 5)
    pause_own(it, 1)
    assert stands(it) == (1, "own")
    resume_group(it)
    assert stands(it) == (1, "own")


def test_a_pause_of_its_own_outlasts_a_groups_change_that_is_still_spreading(
    it: DeadLetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said later than the group's, and so the last word, whether longer or shorter."""
    monkeypatch.setattr("dlq.clock.group_pausing.change_run", lambda change_id: 0)
    pause_group(it, 5)
    pause_own(it, 1)
    while run_changes():
        pass
    assert stands(it) == (1, "own")
    resume_group(it)
    pause_own(it, 2)
    while run_changes():
        pass
    assert stands(it) == (2, "own")


def test_a_shorter_pause_becomes_part_of_the_groups_and_ends_with_it(it: DeadLetter) -> None:
    """As the page and the command say."""
    pause_own(it, 1)
    pause_group(it, 5)
    assert stands(it) == (5, "all")
    resume_group(it)
    assert stands(it) == (0, "")


def test_one_that_went_on_by_itself_is_left_alone_when_its_group_does(it: DeadLetter) -> None:
    pause_group(it, 1)
    letter_clock_resume(letter_id=it.pk, by="tests")
    resume_group(it)
    assert stands(it) == (0, "")


def test_who_undoes_a_discard_finds_the_clock_as_the_group_has_it(acme: Tenant, it: DeadLetter) -> None:
    neighbour, never = take_in(acme, "torn"), take_in(acme, "torn")
    discard(never)
    pause_group(it, 5)
    discard(it)
    resume_group(it)
    undo(it)
    undo(never)
    assert stands(it) == stands(never) == stands(neighbour) == (0, "")
    for each in (it, never):
        discard(each)
    pause_group(it, 7)
    pause_group(it, 9)
    for each in (it, never):
        undo(each)
    assert stands(it) == stands(never) == stands(neighbour) == (9, "all")
    resume_group(it)
    assert stands(it) == stands(never) == stands(neighbour) == (0, "")


def test_an_undone_discard_of_many_finds_them_so_too(acme: Tenant, it: DeadLetter) -> None:
    other = take_in(acme, "wet")
    pause_group(it, 5)
    pause_group(other, 3)
    bulk = bulk_draft(kind="discard", letters=DeadLetter.objects.all(), by="command:a", chosen="", reason="r")
    bulk = work(bulk_confirm(bulk_id=bulk.pk, by="command:a"))
    resume_group(it)
    undone = work(bulk_undo(bulk_id=bulk.pk, by="command:a"))
    assert undone.done == 2
    assert (stands(it), stands(other)) == ((0, ""), (3, "all"))


def test_of_several_each_gets_what_it_missed_itself(acme: Tenant, it: DeadLetter) -> None:
    later = take_in(acme, "torn")
    discard(it)
    pause_group(it, 5)
    letter_clock_resume(letter_id=later.pk, by="tests")
    discard(later)
    with transaction.atomic():
        undo_batch(lock_letters([it.pk, later.pk]), "tests")
    assert (stands(it), stands(later)) == ((5, "all"), (0, ""))


def test_a_pause_of_its_own_is_there_after_an_undo(it: DeadLetter) -> None:
    pause_group(it, 1)
    pause_own(it, 5)
    discard(it)
    resume_group(it)
    pause_group(it, 2)
    undo(it)
    assert stands(it) == (5, "own")


def test_one_that_is_drained_while_its_groups_change_spreads_gets_it_once(
    acme: Tenant, it: DeadLetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq.clock.group_pausing.change_run", lambda change_id: 0)
    monkeypatch.setattr(spreading, "BATCH", 1)
    later = take_in(acme, "torn")
    pause_group(it, 5)
    run_changes(1)  # the first one only
    for each in (it, later):
        discard(each)
        undo(each)
    assert (stands(it), stands(later)) == ((5, "all"), (5, "all"))
    while run_changes():
        pass
    assert (stands(it), stands(later)) == ((5, "all"), (5, "all"))
    for each in (it, later):
        discard(each)
    while run_changes():
        pass
    resume_group(it)
    for each in (it, later):
        undo(each)
    assert (stands(it), stands(later)) == ((0, ""), (0, ""))


def test_what_dies_of_another_cause_leaves_the_pause_of_the_first_one(acme: Tenant, it: DeadLetter) -> None:
    pause_group(it, 5)
    replay(it)
    end(it, Run.DIED, "wet")
    assert stands(it) == (0, "")
    assert group_of(it).due_at == it.due_at


def test_what_dies_of_another_cause_has_the_pause_of_that(acme: Tenant, it: DeadLetter) -> None:
    other = take_in(acme, "wet")
    pause_group(other, 5)
    pause_group(it, 2)
    replay(it)
    end(it, Run.DIED, "wet")
    assert stands(it) == (5, "all")
    assert it.group_id == other.group_id
    resume_group(other)
    assert stands(it) == (0, "")


def test_what_dies_of_another_cause_keeps_a_longer_pause_of_its_own(acme: Tenant, it: DeadLetter) -> None:
    other = take_in(acme, "wet")
    pause_group(other, 2)
    pause_own(it, 5)
    replay(it)
    end(it, Run.DIED, "wet")
    resume_group(other)
    assert stands(it) == (5, "own")


def test_a_pause_that_overtakes_a_resumption_has_the_letters_that_it_did_not_reach(
    it: DeadLetter, monkeypatch: pytest.MonkeyPatch
) -> None:
    pause_group(it, 5)
    with monkeypatch.context() as patch:
        patch.setattr("dlq.clock.group_pausing.change_run", lambda change_id: 0)
        resume_group(it)
        pause_group(it, 3)
        resume_group(it)
        pause_group(it, 2)
    while run_changes():
        pass
    assert stands(it) == (2, "all")
    resume_group(it)
    assert stands(it) == (0, "")
