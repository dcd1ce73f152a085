"""What operators do to channels: refused with what is right, recorded without secrets, tested on the spot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User

from jobops.alerts import channels
from jobops.alerts.channel_services import channel_change, channel_create, channel_delete, channel_test, shown_target
from jobops.alerts.channels.answers import Answer
from jobops.alerts.errors import InvalidAlertAction, NoSuchAlert
from jobops.alerts.models import Channel, Delivery
from jobops.alerts.sending import send_due
from jobops.audit.models import AuditEntry
from tenants.models import Team
from tests.alerts.channels.conftest import SIGNING_KEY
from tests.alerts.channels.sink import Sink

pytestmark = pytest.mark.django_db
TOKEN = "T0123456/s3cr3t-t0ken"


@pytest.fixture
def olga() -> User:
    return User.objects.create(username="olga")


def made(receiver: Sink, olga: User, **fields: Any) -> Channel:
    values = {"name": "on call", "kind": "webhook", "target": f"{receiver.url}/{TOKEN}", "secret": SIGNING_KEY}
    return channel_create(by=olga, **(values | fields))


def recorded() -> str:
    return json.dumps(list(AuditEntry.objects.values("action", "target_id", "before", "after", "reason")))


def test_a_channel_is_made_changed_and_deleted_and_the_audit_has_no_secret(receiver: Sink, olga: User) -> None:
    team = Team.objects.create(name="payments")
    channel = made(receiver, olga, team=team, least_severity="high")
    other = f"{receiver.url}/another-t0ken"
    channel_change(channel_id=channel.pk, by=olga, target=other, secret="x" * 20, name="on call 2")
    channel.refresh_from_db()
    assert (channel.target, channel.secret, channel.name, channel.team) == (other, "x" * 20, "on call 2", team)
    channel_delete(channel_id=channel.pk, by=olga)
    assert not Channel.objects.exists()
    actions = AuditEntry.objects.order_by("pk").values_list("action", "actor", "target_id")
    assert list(actions) == [
        ("channel.create", "olga", "on call"),
        ("channel.set", "olga", "on call 2"),
        ("channel.delete", "olga", "on call 2"),
    ]
    changed = AuditEntry.objects.get(action="channel.set")
    assert changed.after["target"].endswith("/••••, another one")
    assert changed.after["key"] == "another one"
    for secret in ("t0ken", SIGNING_KEY, "xxxx"):
        assert secret not in recorded()


def test_a_channel_that_goes_while_its_test_is_sent_is_no_fault(
    receiver: Sink, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = made(receiver, olga)

    def deleted_meanwhile(*args: object) -> Answer:
        channel_delete(channel_id=channel.pk, by=olga)
        return Answer(True, 200, "ok")

    monkeypatch.setattr(channels, "send", deleted_meanwhile)
    assert channel_test(channel_id=channel.pk, by=olga).ok
    assert not Delivery.objects.exists()


def test_a_change_of_nothing_leaves_no_row(receiver: Sink, olga: User) -> None:
    channel = made(receiver, olga)
    channel_change(channel_id=channel.pk, by=olga, name="on call", enabled=True)
    assert AuditEntry.objects.filter(action="channel.set").count() == 0


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        ({"name": " "}, "name", "1 to 50 visible"),
        ({"name": "x" * 51}, "name", "1 to 50 visible"),
        ({"name": "a\0b"}, "name", "1 to 50 visible"),
        ({"kind": "fax"}, "kind", "use one of email, slack, pagerduty, webhook"),
        ({"target": ""}, "target", "no URL of a web server"),
        ({"target": "https://127.0.0.1/x"}, "target", "loopback address"),
        ({"target": "http://example.com/x"}, "target", "use https://"),
        ({"target": "https://h.example/" + "x" * 1000}, "target", "at most 1000"),
        ({"kind": "email", "target": "nobody"}, "target", "is no address"),
        ({"kind": "email", "target": ""}, "target", "give an address"),
        ({"kind": "email", "target": "a@example.com\nBcc: x"}, "target", "is no address"),
        ({"secret": ""}, "secret", "signing key"),
        ({"secret": "short"}, "secret", "at least 16"),
        ({"kind": "pagerduty", "target": "", "secret": ""}, "secret", "integration key"),
        ({"kind": "pagerduty", "target": "", "secret": "käy"}, "secret", "integration key"),
        ({"least_severity": "worst"}, "least_severity", "use one of low, normal, high, critical"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_field(
    fields: dict[str, Any], field: str, problem: str, receiver: Sink, olga: User
) -> None:
    with pytest.raises(InvalidAlertAction) as refused:
        made(receiver, olga, **fields)
    assert refused.value.field == field
    assert problem in refused.value.problem
    assert not Channel.objects.exists()
    assert not AuditEntry.objects.exists()


def test_two_channels_have_two_names(receiver: Sink, olga: User) -> None:
    made(receiver, olga)
    with pytest.raises(InvalidAlertAction, match="another channel is called 'on call'"):
        made(receiver, olga)
    other = made(receiver, olga, name="other")
    with pytest.raises(InvalidAlertAction, match="another channel is called 'on call'"):
        channel_change(channel_id=other.pk, by=olga, name="on call")


def test_its_kind_stays_and_what_is_not_there_is_said(receiver: Sink, olga: User) -> None:
    channel = made(receiver, olga)
    with pytest.raises(InvalidAlertAction, match="make another channel"):
        channel_change(channel_id=channel.pk, by=olga, kind="slack")
    for number in (0, -1, channel.pk + 1, 2**70):
        with pytest.raises(NoSuchAlert):
            channel_delete(channel_id=number, by=olga)


def test_pagerdutys_key_goes_to_no_new_address_unless_it_is_given_again(receiver: Sink, olga: User) -> None:
    channel = made(receiver, olga, kind="pagerduty", target="", secret="r0uting")
    with pytest.raises(InvalidAlertAction, match="give the integration key again"):
        channel_change(channel_id=channel.pk, by=olga, target=f"{receiver.url}/mine")
    channel_change(channel_id=channel.pk, by=olga, target=f"{receiver.url}/eu", secret="r0uting")


def test_a_test_is_sent_at_once_and_shows_the_answer(receiver: Sink, olga: User) -> None:
    channel = made(receiver, olga)
    receiver.body = b"got it"
    answer = channel_test(channel_id=channel.pk, by=olga)
    assert (answer.ok, answer.status, answer.text) == (True, 200, "got it")
    body = json.loads(receiver.got[0].body)
    assert (body["event"], body["title"]) == ("test", "This is a test of the channel on call")
    assert body["detail"].startswith("olga sent it.")
    row = Delivery.objects.get()
    assert (row.event, row.state, row.answer) == ("test", "sent", "HTTP 200: got it")
    assert AuditEntry.objects.filter(action="channel.test").count() == 1


def test_a_test_that_fails_is_not_tried_again(receiver: Sink, olga: User) -> None:
    channel = made(receiver, olga)
    receiver.status, receiver.body = 403, f"who are you, {TOKEN}".encode()
    answer = channel_test(channel_id=channel.pk, by=olga)
    assert (answer.ok, answer.status) == (False, 403)
    assert "t0ken" not in answer.text
    assert send_due() == 0
    assert len(receiver.got) == 1


def test_what_is_shown_of_a_channel(receiver: Sink, olga: User) -> None:
    assert "t0ken" not in shown_target(made(receiver, olga))
    assert shown_target(made(receiver, olga, name="b", kind="email", target="a@example.com")) == "a@example.com"
    assert shown_target(made(receiver, olga, name="c", kind="pagerduty", target="", secret="k" * 8)) == "PagerDuty"
