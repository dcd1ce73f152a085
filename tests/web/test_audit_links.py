"""Where the audit's rows lead: to the page of what was changed, if it is there and this person may open it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.models import RuleSet
from jobops.audit import recording
from jobops.audit.models import AuditEntry
from jobops.audit.recording import Change
from jobops.web.audit_links import links_for
from tenants.models import Team, Tenant
from tenants.roles import Role
from tests.web.alert_things import alert_of, channel_of, silence_of
from tests.web.causes import cause, letter_of
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


def row(action: str, kind: str, target: object, tenant: Tenant | None = None) -> AuditEntry:
    recording.record(
        "command:root",
        Change(action, kind, str(target), tenant.pk if tenant else None, tenant.slug if tenant else ""),
    )
    return AuditEntry.objects.latest("id")


def things(world: World, acme: Tenant) -> dict[str, AuditEntry]:
    """A row for each kind of thing that has a page: by the address of that."""
    group = cause("Torn")
    letter_of(world, group, acme)
    alert, channel, rules = alert_of("acme"), channel_of("night"), RuleSet.objects.create(text="", by="olga")
    team = Team.objects.create(name="payments")
    return {
        f"/dlq/groups/{group.pk}/": row("group.acknowledge", "group", group.pk),
        f"/alerts/{alert.pk}/": row("alert.acknowledge", "alert", alert.pk),
        "/alerts/silences/": row("silence.create", "silence", silence_of().pk),
        f"/settings/channels/{channel.pk}/": row("channel.test", "channel", "night"),
        f"/settings/teams/{team.pk}/": row("team.set", "team", "payments"),
        f"/settings/rules/{rules.pk}/": row("rules.save", "rules", rules.pk),
        "/settings/alert-rules/": row("alert_rule.set", "alert_rule", 7),
        "/settings/reasons/": row("discard_reason.add", "discard_reason", "Fixed by hand"),
    }


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.OPERATOR])
def test_each_row_leads_to_a_page_that_opens(world: World, acme: Tenant, role: Role) -> None:
    rows = things(world, acme)
    client = world.client(role)
    page = client.get("/audit/").content.decode()
    for address, entry in rows.items():
        line = re.search(rf'<tr id="a-{entry.pk}".*?</tr>', page, re.DOTALL)
        assert line is not None
        assert f'href="{address}"' in line[0]
        assert client.get(address).status_code == 200


def test_what_is_gone_leads_nowhere(world: World, acme: Tenant) -> None:
    links = links_for(world.person(Role.OPERATOR), [])
    for kind, target in (("group", 999), ("alert", 999), ("channel", "x"), ("team", "x"), ("rules", 9), ("group", "x")):
        entry = row("x.y", kind, target)
        links = links_for(world.person(Role.OPERATOR), [entry])
        assert links.of(entry) == ""


def test_a_group_of_accounts_is_no_cause(world: World, acme: Tenant) -> None:
    group = cause("Torn")
    entry = row("group.set", "group", group.pk)
    assert links_for(world.person(Role.OPERATOR), [entry]).of(entry) == ""


def test_a_tenants_people_are_led_only_to_causes_of_their_own(world: World, acme: Tenant) -> None:
    rows = things(world, acme)
    theirs = cause("Wet")
    letter_of(world, theirs, world.tenant("rival"))
    foreign = row("group.acknowledge", "group", theirs.pk)
    links = links_for(world.person(Role.TENANT_ADMIN, acme), [*rows.values(), foreign])
    assert {links.of(entry) for entry in rows.values()} == {"", next(iter(rows))}
    assert links.of(foreign) == ""


def test_fifty_rows_take_as_many_queries_as_one_of_each_kind(world: World, acme: Tenant) -> None:
    user, counts = world.person(Role.OPERATOR), []
    rows = list(things(world, acme).values())
    links_for(user, rows)  # what is known of a person is asked once
    for more in (0, 20):
        for number in range(more):
            rows.append(row("group.acknowledge", "group", cause(f"Cause {number}").pk))
            rows.append(row("team.create", "team", Team.objects.create(name=f"t{number}").name))
        with CaptureQueriesContext(connection) as queries:
            links_for(user, rows)
        counts.append(len(queries))
    assert counts[0] == counts[1]
