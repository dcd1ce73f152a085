"""Teams: made, changed, deleted; who is in them; and what the audit says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobops.audit.models import AuditEntry
from tenants.errors import InvalidTeam, TeamExists, TeamGone
from tenants.models import Team, TeamMember
from tenants.roles import Role
from tenants.teams import member_add, member_remove, team_create, team_delete, team_named, team_set
from tests.tenants.people import new_tenant, person

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return person(Role.ON_CALL, name="ada")


def audited() -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    rows = AuditEntry.objects.filter(target_kind="team").order_by("pk")
    return list(rows.values_list("action", "target_id", "before", "after"))


def test_a_team_is_made_and_changed_and_the_audit_says_so() -> None:
    ops = team_create(name="  night   shift ", about="the nights", by="test")
    assert ops.name == "night shift"
    team = team_create(name="payments", by="test", escalates_to="night shift", escalate_after_min=10)
    assert team.escalates_to == ops
    team_set(team=team, by="test", escalates_to="", about="invoices")
    team_set(team=team, by="test", about="invoices")
    stored = Team.objects.get(name="payments")
    assert (stored.about, stored.escalates_to, stored.escalate_after_min) == ("invoices", None, 10)
    assert audited()[1:] == [
        ("team.create", "payments", {}, {"about": "", "escalates_to": "night shift", "escalate_after_min": 10}),
        (
            "team.set",
            "payments",
            {"about": "", "escalates_to": "night shift"},
            {"about": "invoices", "escalates_to": ""},
        ),
    ]


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"name": ""}, "name", "must be 1 to 50 letters"),
        ({"name": "a/b"}, "name", "must be 1 to 50 letters"),
        ({"name": "-a"}, "name", "with a letter or digit at both ends"),
        ({"name": "x" * 51}, "name", "1 to 50"),
        ({"name": "a\0"}, "name", "1 to 50"),
        ({"name": "a", "about": "x" * 201}, "about", "at most 200 characters"),
        ({"name": "a", "about": "x\ny"}, "about", "one line of text"),
        ({"name": "a", "escalates_to": "a"}, "escalates_to", "does not escalate to itself"),
        ({"name": "a", "escalates_to": "zzz"}, "escalates_to", "no team is called 'zzz'"),
        ({"name": "a", "escalate_after_min": 0}, "escalate_after_min", "from 1 to 10,080"),
        ({"name": "a", "escalate_after_min": True}, "escalate_after_min", "a whole number of minutes"),
    ],
)
def test_what_no_team_may_have_is_refused_by_name(fields: dict[str, Any], field: str, problem: str) -> None:
    with pytest.raises(InvalidTeam, match=problem) as refused:
        team_create(by="test", **fields)
    assert refused.value.field == field
    assert not Team.objects.exists()


def test_two_teams_of_one_name_are_none() -> None:
    team_create(name="payments", by="test")
    with pytest.raises(TeamExists, match="a team 'payments' exists already"):
        team_create(name="payments", by="test")


def test_a_colleague_is_taken_in_and_out_once(ada: User) -> None:
    team = team_create(name="payments", by="test")
    for act in (member_add, member_add, member_remove, member_remove):
        act(team=team, user=ada, by="test")
    assert [row[::3] for row in audited()[1:]] == [("team.add", {"member": "ada"}), ("team.remove", {})]


def test_who_is_none_of_ours_is_in_no_team(ada: User) -> None:
    team = team_create(name="payments", by="test")
    ada.is_active = False
    ada.save()
    for user in (person(name="mallory"), person(Role.TENANT_ADMIN, new_tenant("acme")), ada):
        with pytest.raises(InvalidTeam, match="has no role in our team"):
            member_add(team=team, user=user, by="test")
    assert not TeamMember.objects.exists()


def test_a_deleted_team_takes_its_members_along_and_leaves_who_escalated_to_it(ada: User) -> None:
    team = team_create(name="payments", by="test")
    other = team_create(name="mail", by="test", escalates_to="payments")
    member_add(team=team, user=ada, by="test")
    team_delete(team=team, by="test")
    other.refresh_from_db()
    assert (other.escalates_to, TeamMember.objects.count()) == (None, 0)
    assert audited()[-1][2]["members"] == ["ada"]


def test_the_default_team_stays() -> None:
    team = team_create(name="operations", by="test")
    with pytest.raises(InvalidTeam, match="owns what no rule does"):
        team_delete(team=team, by="test")


@pytest.mark.parametrize(
    "act",
    [
        lambda team, user: team_set(team=team, by="test", about="x"),
        lambda team, user: team_delete(team=team, by="test"),
        lambda team, user: member_add(team=team, user=user, by="test"),
        lambda team, user: member_remove(team=team, user=user, by="test"),
        lambda team, user: team_named("payments"),
        lambda team, user: team_named("a\0"),
    ],
)
def test_a_team_that_somebody_deleted_meanwhile_is_said_to_be_gone(
    ada: User, act: Callable[[Team, User], object]
) -> None:
    team = team_create(name="payments", by="test")
    Team.objects.all().delete()
    with pytest.raises(TeamGone, match="there is no team"):
        act(team, ada)
