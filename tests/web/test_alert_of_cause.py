"""A cause and its alert know of each other; how urgent an alert is, and who was told of it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dlq.models import DeadLetterGroup
from jobops.alerts.acting import alert_acknowledge
from jobops.alerts.models import Alert, Delivery
from tenants.models import Team, Tenant
from tenants.roles import Role
from tests.web.alert_things import alert_of, channel_of
from tests.web.causes import cause, letter_of
from tests.web.test_alerts import body
from tests.web.world import World


@pytest.fixture
def on_call(world: World) -> Client:
    return world.client(Role.ON_CALL)


def alert_about(group: DeadLetterGroup, signal: str = "new_cause", **fields: Any) -> Alert:
    scope = {"group": group.pk, "team": group.owner}
    return alert_of(f"{signal}:group={group.pk}", signal=signal, scope=scope, owner=group.owner, **fields)


def test_the_page_of_a_cause_says_how_its_alerts_stand(on_call: Client, world: World, acme: Tenant) -> None:
    group, other = cause("one"), cause("other")
    letter_of(world, group, acme)
    known, late, over = (alert_about(group, name) for name in ("new_cause", "sla_breach", "sla_warning"))
    alert_about(other)
    alert_acknowledge(alert_id=known.pk, by="olga")
    Alert.objects.filter(pk=over.pk).update(state="resolved", resolved_at=timezone.now())
    text = body(on_call, f"/dlq/groups/{group.pk}/")
    assert re.findall(r'href="/alerts/(\d+)/"', text) == [str(late.pk), str(known.pk)]
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))
    assert "Alert acknowledged by olga until" in plain
    assert "Alert firing for 25" in plain
    theirs = world.client(Role.TENANT_ADMIN, acme)
    assert "/alerts/" not in body(theirs, f"/dlq/groups/{group.pk}/")


def test_an_alert_leads_to_its_cause_from_its_facts(on_call: Client) -> None:
    group = cause("one", open=3)
    text = body(on_call, f"/alerts/{alert_about(group).pk}/")
    assert f'<dd><a href="/dlq/groups/{group.pk}/">{group.pk}</a></dd>' in text
    odd = alert_of("odd", scope={"group": "<b>x"})
    assert "<dd>&lt;b&gt;x</dd>" in body(on_call, f"/alerts/{odd.pk}/")


def test_what_is_high_does_not_look_like_what_is_normal(on_call: Client) -> None:
    for severity in ("low", "normal", "high", "critical"):
        alert_of(severity, severity=severity)
    looks = re.findall(r'<span class="st (st-\w+)">.*?</svg>(\w+)</span>', body(on_call))
    assert looks == [("st-danger", "Critical"), ("st-danger", "High"), ("st-warn", "Normal"), ("st-calm", "Low")]
    assert body(on_call).count("fire-r al-r crit") == 1


@pytest.mark.parametrize("named_in", ["also_alerts", "also"])
def test_who_was_told_of_several_at_once_is_told_on_the_page_of_each(on_call: Client, named_in: str) -> None:
    first, second, other = alert_of("first"), alert_of("second"), alert_of("other", signal="new_cause")
    channel = channel_of("their mail", team=Team.objects.create(name="operations"))
    also = {"also_alerts": [second.pk]} if named_in == "also_alerts" else {"also": [{"alert": second.pk}]}
    row = {"channel": channel, "event": "escalated", "state": "sent"}
    Delivery.objects.create(key="1", alert=first, message={"also_count": 1, **also}, **row)
    Delivery.objects.create(key="2", alert=other, message={"also_count": 1, **also}, **row)
    Delivery.objects.create(key="3", alert=first, message={"also_count": 0}, **row)
    Alert.objects.update(told_at=timezone.now(), escalated_at=timezone.now())
    text = body(on_call, f"/alerts/{second.pk}/")
    assert text.count('data-l="Event">Escalated') == 1
    assert f'with <a href="/alerts/{first.pk}/">alert {first.pk}</a>' in text
    assert "It was escalated to operations: nobody had acknowledged it" in text
    assert body(on_call, f"/alerts/{first.pk}/").count('data-l="Event">Escalated') == 2


@pytest.mark.parametrize(
    ("team", "told"),
    [
        ("exports", "Its team was told"),
        ("operations", "operations was told: exports has no channel for it"),
        ("", "Channels of no team were told: exports has no channel for it"),
        (None, "It was told in one message with others"),
    ],
)
def test_an_alert_says_whose_channel_told_of_it(on_call: Client, team: str | None, told: str) -> None:
    alert = alert_of("acme", owner="exports", told_at=timezone.now(), notices=1)
    if team is not None:
        owner = Team.objects.get_or_create(name=team)[0] if team else None
        Delivery.objects.create(key="1", alert=alert, channel=channel_of("mail", team=owner), event="fired")
    text = body(on_call, f"/alerts/{alert.pk}/")
    assert told in text
    assert "no channel is for this owner" not in text
