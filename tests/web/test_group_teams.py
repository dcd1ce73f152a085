"""What lists and pages of causes say of whose they are: other teams' letters, no rule that fits, who deals with it."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetterGroup
from dlq.owners.several import names_of_others, other_teams
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.causes import cause, letter_of
from tests.web.world import World

DEFAULT = {"owner": "operations", "owned_by": "the default team"}


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


def text_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return " ".join(re.sub("<[^>]+>", " ", html.unescape(answer.content.decode())).split())


def row_of(client: Client, group: DeadLetterGroup, query: str = "") -> str:
    page = client.get(f"/dlq/{query}").content.decode()
    found = re.search(rf'<tr id="g-{group.pk}".*?</tr>', page, re.DOTALL)
    assert found is not None
    return " ".join(re.sub("<[^>]+>", " ", html.unescape(found[0]).replace("<wbr>", "")).split())


def mixed(world: World, acme: Tenant) -> DeadLetterGroup:
    """Of billing, with letters of imports and mail; one of nobody's that is drained."""
    group = cause("Torn", owner="billing")
    for owner in ("billing", "billing", "imports", "mail", "imports"):
        letter_of(world, group, acme, owner=owner)
    letter_of(world, group, acme, owner="lab", state="resolved")
    return group


def test_a_cause_with_letters_of_other_teams_says_so(world: World, acme: Tenant) -> None:
    group, plain = mixed(world, acme), cause("Wet")
    letter_of(world, plain, acme, owner="billing")
    client = world.client(Role.ON_CALL)
    assert "billing +2 nobody yet" in row_of(client, group)
    assert "+" not in row_of(client, plain).partition("billing")[2]
    assert "imports and mail have letters of it too" in text_of(client, f"/dlq/groups/{group.pk}/")
    assert "letters of it too" not in text_of(client, f"/dlq/groups/{plain.pk}/")


def test_one_tenants_share_tells_of_the_teams_of_its_letters_alone(world: World, acme: Tenant) -> None:
    group, rival = cause("Torn", owner="billing"), world.tenant("rival")
    letter_of(world, group, acme, owner="imports")
    letter_of(world, group, rival, owner="billing")
    client = world.client(Role.ON_CALL)
    assert "billing +1" in row_of(client, group, "?tenant=acme")
    assert "+1" not in row_of(client, group, "?tenant=rival")
    assert "imports has letters of it too" in text_of(client, f"/dlq/groups/{group.pk}/?tenant=acme")


def test_a_tenants_people_read_no_team(world: World, acme: Tenant) -> None:
    group = mixed(world, acme)
    DeadLetterGroup.objects.filter(pk=group.pk).update(state="acknowledged", state_by="olga", **DEFAULT)
    client = world.client(Role.TENANT_ADMIN, acme)
    letter = group.letters.first()
    assert letter is not None
    for path in ("/dlq/", f"/dlq/groups/{group.pk}/", f"/dlq/{letter.pk}/"):
        text = text_of(client, path)
        for word in ("imports", "mail", "operations", "olga", "cknowledged", "no rule matched"):
            assert word not in text, (path, word)


def test_teams_of_many_causes_are_counted_in_one_query(world: World, acme: Tenant) -> None:
    groups = [mixed(world, acme) for _ in range(12)]
    with CaptureQueriesContext(connection) as queries:
        assert other_teams([group.pk for group in groups]) == {group.pk: 2 for group in groups}
        assert names_of_others(groups[0]) == ["imports", "mail"]
    assert len(queries) == 2


def test_what_no_rule_matched_is_tagged_and_said(world: World, acme: Tenant) -> None:
    group, ruled = cause("Torn", **DEFAULT), cause("Wet", owner="operations", owned_by="rule: *")
    letter = letter_of(world, group, acme, **DEFAULT)
    letter_of(world, ruled, acme, owner="operations", owned_by="rule: *")
    client = world.client(Role.ON_CALL)
    assert "no rule matched" in row_of(client, group)
    assert "no rule matched" not in row_of(client, ruled)
    for path in (f"/dlq/groups/{group.pk}/", f"/dlq/{letter.pk}/"):
        assert "operations the default team: no rule matched" in text_of(client, path)
    assert "no rule matched" not in text_of(client, f"/dlq/groups/{ruled.pk}/")


def test_poison_is_tagged(world: World, acme: Tenant) -> None:
    group = cause("Torn")
    letter_of(world, group, acme, reason="poison")
    assert row_of(world.client(Role.ON_CALL), group).endswith("Active")
    assert " poison " in row_of(world.client(Role.ON_CALL), group)


@pytest.mark.parametrize(
    ("state", "hours", "told"),
    [("active", 1, True), ("acknowledged", 1, True), ("active", 25, False), ("drained", 1, False)],
)
def test_a_cause_that_came_back_says_so_for_a_day(
    world: World, acme: Tenant, state: str, hours: int, *, told: bool
) -> None:
    group = cause("Torn")
    letter_of(world, group, acme, state="resolved" if state == "drained" else "open")
    reopened_at = timezone.now() - timedelta(hours=hours)
    DeadLetterGroup.objects.filter(pk=group.pk).update(state=state, reopened_at=reopened_at, reopened_from="drained")
    query = "?status=drained" if state == "drained" else ""
    assert ("came back" in row_of(world.client(Role.ON_CALL), group, query)) is told


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"state": "acknowledged", "state_by": "olga"}, "the only one open of this cause , acknowledged by olga"),
        ({"state": "snoozed", "state_by": "olga", "snoozed_to_deaths": 50}, ", snoozed until 50 deaths by olga"),
        ({"state": "active", "state_by": "olga"}, ""),
    ],
)
def test_a_letters_page_tells_who_deals_with_its_cause(
    world: World, acme: Tenant, fields: dict[str, object], told: str
) -> None:
    group = cause("Torn")
    letter = letter_of(world, group, acme)
    DeadLetterGroup.objects.filter(pk=group.pk).update(**fields)
    text = text_of(world.client(Role.ON_CALL), f"/dlq/{letter.pk}/")
    assert told in text
    assert ("by olga" in text) is bool(told)
