"""Whose a letter is that is opened again, or dies again of another cause: by what is in force then."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from dlq.models import RuleSet
from dlq.owners.assigning import group_assign, group_take, letter_take
from dlq.owners.saving import rules_save
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import Run, discard, end, group_of, replay, take_in, undo, wrong

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
TYPE = {"job_type": "billing.send", "payload": '{"args": [], "kwargs": {"invoice_id": 1}}'}


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def rules(text: str) -> None:
    """In force for what comes, past the change of what is there: that goes over what is undrained."""
    RuleSet.objects.create(text=text, by="test")


def test_who_undoes_a_discard_gives_the_letter_to_whose_it_is_now(acme: Tenant, teams: None) -> None:
    letter = take_in(acme, "torn", **TYPE)
    discard(letter)
    rules("job=billing.* -> imports sla=1h severity=high")
    undo(letter)
    letter.refresh_from_db()
    assert (letter.owner, letter.owned_by, letter.severity) == ("imports", "rule: job=billing.*", "high")
    assert letter.due_at - letter.dead_at == HOUR
    assert group_of(letter).due_at == letter.due_at
    assert wrong() == []


def test_pauses_still_count_after_an_undo(acme: Tenant, teams: None) -> None:
    letter = take_in(acme, "torn", **TYPE)
    letter.clock_paused_s, letter.due_at = 600, letter.due_at + timedelta(seconds=600)
    letter.save()
    discard(letter)
    rules("* -> imports sla=1h")
    undo(letter)
    letter.refresh_from_db()
    assert letter.due_at - letter.dead_at == HOUR + timedelta(seconds=600)


def test_what_dies_again_of_another_cause_is_whose_that_is(acme: Tenant, teams: None) -> None:
    rules("reason=timeout -> imports sla=9h\nreason=exhausted -> mail sla=1h")
    first = take_in(acme, "torn", reason="timeout", **TYPE)
    other = take_in(acme, "torn", reason="timeout", **TYPE)
    group = group_of(first)
    replay(first)
    end(first, Run.DIED, "wet")
    first.refresh_from_db()
    assert (first.owner, first.due_at - first.dead_at) == ("mail", HOUR)
    moved = group_of(first)
    assert moved.pk != group.pk
    assert (moved.owner, moved.owned_by, moved.due_at) == ("mail", "rule: reason=exhausted", first.due_at)
    assert group_of(other).due_at == other.due_at
    assert wrong() == []


def test_the_due_time_of_a_cause_follows_one_that_dies_again_in_it(acme: Tenant, teams: None) -> None:
    letter = take_in(acme, "torn", **TYPE)
    rules("* -> imports sla=9h")
    replay(letter)
    end(letter, Run.DIED, "torn")
    letter.refresh_from_db()
    assert (letter.owner, group_of(letter).due_at) == ("imports", letter.due_at)
    assert wrong() == []


def test_what_dies_again_of_a_cause_that_a_person_has_is_theirs(acme: Tenant, teams: None, ada: User) -> None:
    theirs = take_in(acme, "wet", **TYPE)
    group_assign(group_id=group_of(theirs).pk, by=ada, owner="mail", assignee=ada)
    letter = take_in(acme, "torn", **TYPE)
    replay(letter)
    end(letter, Run.DIED, "wet")
    letter.refresh_from_db()
    assert (letter.group_id, letter.owner, letter.assignee_id) == (theirs.group_id, "mail", ada.pk)


def test_what_dies_of_another_cause_leaves_whoever_has_the_first_one(acme: Tenant, teams: None, ada: User) -> None:
    letter, other = take_in(acme, "torn", **TYPE), take_in(acme, "torn", **TYPE)
    group_take(group_id=group_of(letter).pk, by=ada)
    replay(letter)
    end(letter, Run.DIED, "wet")
    for each in (letter, other):
        each.refresh_from_db()
    moved = group_of(letter)
    assert (letter.assignee_id, letter.owner, letter.owned_by) == (None, moved.owner, moved.owned_by)
    assert (moved.assignee_id, moved.owner) == (None, "payments")
    assert other.assignee_id == ada.pk


def test_who_undoes_after_the_rules_were_changed_finds_what_the_others_have(acme: Tenant, teams: None) -> None:
    letter, other = take_in(acme, "torn", **TYPE), take_in(acme, "torn", **TYPE)
    discard(letter)
    rules_save(text="* -> imports sla=2h\n", by="tests")
    undo(letter)
    for each in (letter, other):
        each.refresh_from_db()
    assert (letter.owner, letter.sla_s, letter.severity) == (other.owner, other.sla_s, other.severity)
    assert (letter.owner, letter.sla_s) == ("imports", 7200)


@pytest.mark.parametrize("way", ["undo", "death"])
def test_what_a_person_has_stays_theirs(acme: Tenant, teams: None, bob: User, way: str) -> None:
    letter = take_in(acme, "torn", **TYPE)
    letter_take(letter_id=letter.pk, by=bob)
    rules("* -> imports sla=1h")
    if way == "undo":
        discard(letter)
        undo(letter)
    else:
        replay(letter)
        end(letter, Run.DIED, "wet")
    letter.refresh_from_db()
    assert (letter.owner, letter.assignee_id) == ("payments", bob.pk)
    assert letter.due_at - letter.dead_at == 4 * HOUR
    assert group_of(letter).owner == "payments"
    assert not group_of(letter).owned_by.startswith("by hand")
