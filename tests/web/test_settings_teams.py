"""The pages of teams, ``/settings/teams/``."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from dlq.models import RuleSet
from tenants.models import Team, TeamMember, Tenant
from tenants.roles import Role
from tests.web.alert_things import channel_of
from tests.web.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("send")]


def body(client: object, url: str = "/settings/teams/") -> str:
    answer = client.get(url)  # type: ignore[attr-defined]
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_the_index_leads_to_what_there_is(world: World) -> None:
    Team.objects.create(name="billing")
    text = body(world.client(Role.STAFF_VIEWER), "/settings/")
    assert 'href="/settings/teams/"' in text
    assert 'href="/settings/rules/"' in text
    assert "1 team<" in text
    assert "0 rules" in text


def test_names_that_are_used_and_no_team_has_can_be_made_with_one_press(world: World, acme: Tenant) -> None:
    world.letter(acme, owner="ghosts")
    RuleSet.objects.create(text="job=x -> riders\n", by="x")
    client = world.client(Role.OPERATOR)
    text = body(client)
    assert "No team yet" in text
    for name, used in (("billing", "1 contract"), ("riders", "1 rule"), ("ghosts", "dead letters only")):
        assert re.search(rf'<th scope="row">{name}</th> <td data-l="Used by">.*?{used}', text), name
    answer = client.post("/settings/teams/make/", {"name": "ghosts"}, follow=True)
    assert "There is a team ghosts now." in answer.content.decode()
    text = body(client)
    assert "1 team, and 3 names that are used and no team has." in text
    assert 'value="ghosts"' not in text


def test_a_team_shows_what_it_has_and_who_is_in_it(world: World, acme: Tenant) -> None:
    team = Team.objects.create(name="billing", about="all about money")
    world.letter(acme)
    ada = world.person(Role.ON_CALL)
    client = world.client(Role.OPERATOR)
    assert "Nobody is in it yet." in body(client, f"/settings/teams/{team.pk}/")
    client.post(f"/settings/teams/{team.pk}/add/", {"user": ada.pk})
    text = body(client, f"/settings/teams/{team.pk}/")
    assert "<h1>billing has 1 open dead letter, none of them overdue.</h1>" in text
    assert f"Take {ada.username} out" in text
    assert "shop.jobs.send" in text
    client.post(f"/settings/teams/{team.pk}/remove/", {"user": ada.pk})
    assert not TeamMember.objects.exists()


@pytest.mark.parametrize("user", ["", "0", "99999", "x", "9" * 30])
def test_who_is_not_there_is_not_taken_in(world: World, user: str) -> None:
    team = Team.objects.create(name="billing")
    answer = world.client(Role.OPERATOR).post(f"/settings/teams/{team.pk}/add/", {"user": user}, follow=True)
    assert "Nothing was changed. Who: choose somebody from the list." in answer.content.decode()


def test_what_no_team_may_have_is_said_and_changes_nothing(world: World) -> None:
    team = Team.objects.create(name="billing")
    client = world.client(Role.OPERATOR)
    for data, said in (
        ({"escalate_after_min": "soon"}, "The minutes before that: must be a whole number of minutes"),
        ({"escalate_after_min": "5", "escalates_to": "x"}, "no team is called"),
    ):
        assert said in client.post(f"/settings/teams/{team.pk}/set/", data, follow=True).content.decode()
    answer = client.post("/settings/teams/make/", {"name": "<b>"}, follow=True).content.decode()
    assert "No team was made." in answer
    assert "&#x27;&lt;b&gt;&#x27; must be 1 to 50 letters" in answer
    team.refresh_from_db()
    assert (team.escalate_after_min, Team.objects.count()) == (30, 1)


def test_a_team_that_rules_name_is_not_deleted(world: World) -> None:
    team = Team.objects.create(name="billing")
    RuleSet.objects.create(text="* -> billing\n", by="x")
    client = world.client(Role.OPERATOR)
    answer = client.post(f"/settings/teams/{team.pk}/delete/", follow=True).content.decode()
    assert "Nothing was deleted. Its name: line 1 of the rules gives letters to billing." in answer
    RuleSet.objects.all().delete()
    assert "is deleted" in client.post(f"/settings/teams/{team.pk}/delete/", follow=True).content.decode()
    assert not Team.objects.exists()


def test_a_team_shows_through_what_it_is_told(world: World, settings: Settings) -> None:
    team, default = Team.objects.create(name="billing"), Team.objects.create(name="operations")
    settings.JOBOPS_DEFAULT_OWNER = "operations"
    client = world.client(Role.STAFF_VIEWER)
    url = f"/settings/teams/{team.pk}/"
    assert "It has no channel of its own: only channels of every team tell it" in body(client, url)
    channel_of("ops mail", team=default)
    text = body(client, url)
    assert f'told through those of <a href="/settings/teams/{default.pk}/">operations</a>, the default team' in text
    own = channel_of("billing mail", team=team, least_severity="high")
    text = body(client, url)
    assert f'<a href="/settings/channels/{own.pk}/">billing mail</a>' in text
    assert '<td data-l="Kind">E-mail</td> <td data-l="From severity">high</td>' in text
    assert "ops mail" not in text
    assert "told through those of" not in text
    own.enabled = False
    own.save()
    text = body(client, url)
    assert "switched off" in text
    assert "It has no channel that is on: it is told through those of" in text


def test_a_team_that_stays_says_why_before_anybody_presses(world: World, settings: Settings) -> None:
    settings.JOBOPS_DEFAULT_OWNER = "operations"
    default, named, free = (Team.objects.create(name=name) for name in ("operations", "billing", "free"))
    RuleSet.objects.create(text="job=y -> billing\njob=x -> billing\n* -> operations\n", by="x")
    client = world.client(Role.OPERATOR)
    text = body(client, f"/settings/teams/{default.pk}/")
    assert "It cannot be deleted: operations owns what no rule does; set JOBOPS_DEFAULT_OWNER to another" in text
    assert "Delete operations" not in text
    text = body(client, f"/settings/teams/{named.pk}/")
    assert "It cannot be deleted: lines 1, 2 of the rules give letters to billing." in text
    assert "Delete free" in body(client, f"/settings/teams/{free.pk}/")
    answer = client.post(f"/settings/teams/{default.pk}/delete/", follow=True).content.decode()
    assert "Nothing was deleted. Its name: operations owns what no rule does" in answer


def test_who_may_not_change_sees_why_not(world: World) -> None:
    team = Team.objects.create(name="billing")
    for url in ("/settings/teams/", f"/settings/teams/{team.pk}/", "/settings/rules/"):
        text = body(world.client(Role.ON_CALL), url)
        assert "As on call you may not change settings: only an operator may." in text
        assert "aria-disabled" in text


def test_what_people_wrote_stays_text(world: World) -> None:
    """SE-01."""
    team = Team.objects.create(name="billing", about="<script>alert(1)</script>")
    client = world.client(Role.OPERATOR)
    for url in ("/settings/teams/", f"/settings/teams/{team.pk}/"):
        assert "<script>alert" not in body(client, url)


def test_the_pages_take_as_many_queries_for_fifty_teams_as_for_ten(world: World, acme: Tenant) -> None:
    client = world.client(Role.OPERATOR)
    counts = []
    body(client)
    for count in (10, 50):
        for number in range(count):
            Team.objects.get_or_create(name=f"team {number}")
            world.letter(acme, owner=f"team {number}")
        with CaptureQueriesContext(connection) as queries:
            body(client)
        counts.append(len(queries))
    assert counts[0] == counts[1]
