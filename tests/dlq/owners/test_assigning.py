"""Taking, handing on, giving back; and that no rule ever changes what a person decided."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from dlq.errors import InvalidAction, WrongState
from dlq.models import DeadLetter, LetterChange
from dlq.owners.assigning import (
    group_assign,
    group_give_back,
    group_take,
    letter_assign,
    letter_give_back,
    letter_take,
)
from dlq.owners.saving import rules_save
from jobops.audit.models import AuditEntry
from jobops.web.selectors.group_choices import people
from tenants.models import Tenant
from tenants.roles import Role
from tests.dlq.owners.conftest import die, group_of, owners
from tests.tenants.people import new_tenant, person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("teams")]


def audited(kind: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    rows = AuditEntry.objects.filter(target_kind=kind).order_by("pk")
    return list(rows.values_list("action", "before", "after"))


def test_who_takes_a_letter_has_it_and_its_team_stays(acme: Tenant, ada: User) -> None:
    letter = letter_take(letter_id=die(acme)[0].pk, by=ada)
    stored = DeadLetter.objects.get(pk=letter.pk)
    assert (stored.assignee, stored.owner, stored.by_hand, stored.owned_by) == (ada, "payments", True, "by hand: ada")
    assert audited("letter") == [("letter.take", {"assignee": None}, {"assignee": "ada"})]


def test_taking_twice_is_as_once(acme: Tenant, ada: User) -> None:
    letter = die(acme)[0]
    for _ in range(2):
        letter_take(letter_id=letter.pk, by=ada)
        group_take(group_id=group_of(letter).pk, by=ada)
    assert len(audited("letter")) == len(audited("group")) == 1


def test_what_somebody_has_is_not_taken_behind_their_back(acme: Tenant, ada: User, bob: User) -> None:
    letter = die(acme)[0]
    letter_take(letter_id=letter.pk, by=ada)
    group_take(group_id=group_of(letter).pk, by=ada)
    with pytest.raises(InvalidAction, match="ada has it; hand it on to yourself if that is meant"):
        letter_take(letter_id=letter.pk, by=bob)
    with pytest.raises(InvalidAction, match="ada has it"):
        group_take(group_id=group_of(letter).pk, by=bob)
    letter_assign(letter_id=letter.pk, by=bob, assignee=bob)
    assert DeadLetter.objects.get(pk=letter.pk).assignee == bob


def test_a_letter_is_handed_on_to_a_team_and_back(acme: Tenant, ada: User) -> None:
    letter = die(acme)[0]
    due_at = letter.due_at
    letter_assign(letter_id=letter.pk, by=ada, owner="mail")
    stored = DeadLetter.objects.get(pk=letter.pk)
    assert (stored.owner, stored.assignee, stored.due_at) == ("mail", None, due_at)
    letter_give_back(letter_id=letter.pk, by=ada)
    stored = DeadLetter.objects.get(pk=letter.pk)
    assert (stored.owner, stored.by_hand, stored.owned_by) == ("payments", False, "its contract")
    with pytest.raises(InvalidAction, match="it is where the rules put it"):
        letter_give_back(letter_id=letter.pk, by=ada)


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({}, "owner", "say to which team it goes, or to which person"),
        ({"owner": "nobodys"}, "owner", "no team is called 'nobodys'; those are"),
        ({"owner": ""}, "owner", "no team is called ''"),
    ],
)
def test_whom_nobody_knows_gets_nothing(
    acme: Tenant, ada: User, fields: dict[str, Any], field: str, problem: str
) -> None:
    letter = die(acme)[0]
    for act in (
        lambda: letter_assign(letter_id=letter.pk, by=ada, **fields),
        lambda: group_assign(group_id=group_of(letter).pk, by=ada, **fields),
    ):
        with pytest.raises(InvalidAction, match=problem) as refused:
            act()
        assert refused.value.field == field
    assert owners([letter]) == ["payments"]
    assert audited("letter") == audited("group") == []


def test_only_who_can_see_it_gets_it(acme: Tenant, ada: User) -> None:
    letter, stranger = die(acme)[0], person(name="mallory")
    own = person(Role.TENANT_ADMIN, acme, name="wile")
    Tenant.objects.filter(pk=acme.pk).update(may_replay=True)
    other = person(Role.TENANT_ADMIN, new_tenant("other"), name="elmer")
    for user in (stranger, other):
        with pytest.raises(InvalidAction, match="cannot see it"):
            letter_assign(letter_id=letter.pk, by=ada, assignee=user)
    assert letter_assign(letter_id=letter.pk, by=ada, assignee=own).assignee == own
    # A group is of many tenants.
    with pytest.raises(InvalidAction, match="wile cannot see it"):
        group_assign(group_id=group_of(letter).pk, by=ada, assignee=own)
    ada.is_active = False
    ada.save()
    with pytest.raises(InvalidAction, match="ada cannot see it"):
        group_assign(group_id=group_of(letter).pk, by=ada, assignee=ada)


def test_who_may_only_look_gets_nothing(acme: Tenant, ada: User) -> None:
    letter = die(acme)[0]
    lookers = [person(Role.TENANT_VIEWER, acme, name="eve"), person(Role.STAFF_VIEWER, name="otto")]
    for user in lookers:
        with pytest.raises(InvalidAction, match="may only look at it"):
            letter_assign(letter_id=letter.pk, by=ada, assignee=user)
    with pytest.raises(InvalidAction, match="otto may only look at it"):
        group_assign(group_id=group_of(letter).pk, by=ada, assignee=lookers[1])
    assert people() == ["ada"]


def test_an_account_that_was_just_deleted_is_told_as_unknown(acme: Tenant, ada: User, bob: User) -> None:
    letter = die(acme)[0]
    gone = User.objects.get(pk=bob.pk)
    bob.delete()
    with pytest.raises(InvalidAction, match="there is no account 'bob' any more"):
        letter_assign(letter_id=letter.pk, by=ada, assignee=gone)
    with pytest.raises(InvalidAction, match="there is no account 'bob' any more"):
        group_assign(group_id=group_of(letter).pk, by=ada, assignee=gone)


def test_a_drained_letter_is_nobodys_work(acme: Tenant, ada: User) -> None:
    letter = die(acme)[0]
    DeadLetter.objects.filter(pk=letter.pk).update(state="discarded")
    for act in (letter_take, letter_give_back):
        with pytest.raises(WrongState, match="it is drained"):
            act(letter_id=letter.pk, by=ada)
    with pytest.raises(DeadLetter.DoesNotExist):
        letter_take(letter_id=2**40, by=ada)


def test_a_command_can_hand_on_and_cannot_take(acme: Tenant, ada: User) -> None:
    letter = die(acme)[0]
    with pytest.raises(InvalidAction, match="only a person"):
        group_take(group_id=group_of(letter).pk, by="command:root")
    changed = group_assign(group_id=group_of(letter).pk, by="command:root", assignee=ada)
    assert changed.group.owned_by == "by hand: command:root"


def test_a_group_goes_with_all_its_letters_but_those_that_somebody_has(acme: Tenant, ada: User, bob: User) -> None:
    letters = die(acme, 7)
    letter_take(letter_id=letters[0].pk, by=bob)
    DeadLetter.objects.filter(pk=letters[1].pk).update(state="resolved")
    changed = group_assign(group_id=group_of(letters[0]).pk, by=ada, owner="mail", assignee=ada)
    assert (changed.letters, changed.going_on) == (5, False)
    assert owners(letters) == ["payments", "payments", *["mail"] * 5]
    held = DeadLetter.objects.filter(assignee=ada, owned_by="by hand: ada")
    assert held.count() == 5
    assert changed.group.assigned_at is not None
    assert audited("group") == [
        ("group.assign", {"owner": "payments", "assignee": None}, {"owner": "mail", "assignee": "ada"})
    ]


def test_a_group_given_back_is_as_the_rules_say_but_for_what_somebody_has(acme: Tenant, ada: User, bob: User) -> None:
    letters = die(acme, 3)
    group_id = group_of(letters[0]).pk
    letter_assign(letter_id=letters[0].pk, by=bob, owner="imports")
    group_assign(group_id=group_id, by=ada, owner="mail", assignee=ada)
    rules_save(text="* -> operations sla=9h severity=low", by=ada)
    assert owners(letters) == ["imports", "mail", "mail"]
    changed = group_give_back(group_id=group_id, by=ada)
    assert owners(letters) == ["imports", "operations", "operations"]
    assert (changed.group.owner, changed.group.by_hand, changed.group.assignee) == ("operations", False, None)
    stored = DeadLetter.objects.get(pk=letters[1].pk)
    assert (stored.assignee, stored.severity, (stored.due_at - stored.dead_at).total_seconds()) == (None, "low", 32400)
    with pytest.raises(InvalidAction, match="nobody took it"):
        group_give_back(group_id=group_id, by=ada)


def test_a_letter_given_back_in_a_group_that_somebody_has_is_theirs(acme: Tenant, ada: User, bob: User) -> None:
    letter = die(acme)[0]
    letter_take(letter_id=letter.pk, by=bob)
    group_assign(group_id=group_of(letter).pk, by=ada, owner="mail", assignee=ada)
    letter_give_back(letter_id=letter.pk, by=bob)
    stored = DeadLetter.objects.get(pk=letter.pk)
    assert (stored.owner, stored.assignee, stored.by_hand) == ("mail", ada, False)


def test_no_rule_changes_what_a_person_decided(acme: Tenant, ada: User, bob: User) -> None:
    single, many = die(acme), die(acme, 3, job_type="mail.send")
    letter_take(letter_id=single[0].pk, by=bob)
    group_take(group_id=group_of(many[0]).pk, by=ada)
    before = list(DeadLetter.objects.order_by("pk").values())
    rules_save(text="* -> operations sla=1h severity=critical", by=ada)
    assert list(DeadLetter.objects.order_by("pk").values()) == before
    assert group_of(many[0]).owner == "mail"
    assert not LetterChange.objects.filter(ended_at__isnull=True).exists()
