"""Channels and thresholds in the settings: masked, tested on the spot, refused with what is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from jobops.alerts.models import AlertRule, Channel, Delivery
from tenants.models import Team
from tenants.roles import Role
from tests.alerts.channels.sink import Sink, sink
from tests.web.alert_things import alert_of, channel_of
from tests.web.test_alerts import HOSTILE, body, title
from tests.web.world import World

TOKEN = "T0123456/s3cr3t-t0ken"
KEY = "signing-key-of-us-0123456789"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Sink]:
    with sink() as found:
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [found.url]
        yield found


@pytest.fixture
def operator(world: World) -> Client:
    return world.client(Role.OPERATOR)


def form(receiver: Sink, **fields: str) -> dict[str, str]:
    values = {"name": "payments", "kind": "webhook", "target": f"{receiver.url}/{TOKEN}", "secret": KEY}
    return {**values, "team": "", "least_severity": "high", **fields}


def test_a_channel_is_made_tested_changed_and_deleted(operator: Client, receiver: Sink) -> None:
    Team.objects.create(name="payments")
    assert title(body(operator, "/settings/channels/")) == "Nobody is told of alerts yet."
    answer = operator.post("/settings/channels/new/", form(receiver, team="payments"))
    channel = Channel.objects.get()
    url = f"/settings/channels/{channel.pk}/"
    assert answer["Location"] == url
    assert channel.team is not None
    receiver.body = b"got it, thanks"
    operator.post(f"{url}test/")
    assert len(receiver.got) == 1
    assert "The test was taken. HTTP 200: got it, thanks" in body(operator, url)
    receiver.status, receiver.body = 403, f"no such hook {TOKEN}".encode()
    operator.post(f"{url}test/")
    text = body(operator, url)
    assert "The test was not taken. HTTP 403: no such hook" in text
    assert "t0ken" not in text
    operator.post(f"{url}set/", {"name": "renamed", "least_severity": "low", "target": "", "secret": ""})
    channel.refresh_from_db()
    assert (channel.name, channel.enabled, channel.target, channel.secret) == (
        "renamed",
        False,
        f"{receiver.url}/{TOKEN}",
        KEY,
    )
    operator.post(f"{url}delete/")
    assert not Channel.objects.exists()


def test_no_page_shows_an_address_or_a_key(world: World, operator: Client, receiver: Sink) -> None:
    """SE-06, SE-07: nor the audit, nor the admin, nor an answer to a fault."""
    operator.post("/settings/channels/new/", form(receiver))
    channel = Channel.objects.get()
    operator.post(f"/settings/channels/{channel.pk}/set/", form(receiver, target=f"{receiver.url}/other-t0ken"))
    bad = operator.post("/settings/channels/new/", form(receiver, target="http://h.example/t0ken"))
    assert bad.status_code == 422
    superuser = world.client(Role.SUPERUSER)
    urls = ("/settings/channels/", f"/settings/channels/{channel.pk}/", "/audit/", "/alerts/")
    texts = [bad.content.decode(), *(body(superuser, url) for url in urls)]
    texts.append(superuser.post("/audit/export/", {"format": "csv"}).getvalue().decode())
    for text in texts:
        assert "t0ken" not in text
        assert KEY not in text
    assert f"{receiver.url}/••••" in texts[1].replace("<wbr>", "")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"target": "https://169.254.169.254/latest/meta-data"}, "link-local address"),
        ({"target": "https://10.0.0.8/"}, "private address"),
        ({"target": "nonsense"}, "no URL of a web server"),
        ({"kind": "email", "target": "nobody"}, "Leads to: &#x27;nobody&#x27; is no address"),
        ({"kind": ""}, "Kind: &#x27;&#x27; is none: use one of"),
        ({"team": "nobody"}, "there is no team"),
        ({"team": "a\0b"}, "there is no team"),
        ({"name": ""}, "1 to 50 visible"),
        ({"secret": "short"}, "Key: use at least 16"),
        ({"least_severity": "worst"}, "Told from this severity on: &#x27;worst&#x27; is none"),
    ],
)
def test_a_fault_is_said_beside_the_form(operator: Client, receiver: Sink, fields: dict[str, str], words: str) -> None:
    answer = operator.post("/settings/channels/new/", form(receiver, **fields))
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Channel.objects.exists()


def test_a_change_that_cannot_be_is_said_and_changes_nothing(operator: Client) -> None:
    channel = channel_of("mail")
    answer = operator.post(f"/settings/channels/{channel.pk}/set/", {"name": "mail", "target": "nobody"})
    assert answer.status_code == 422
    assert "Nothing was changed." in answer.content.decode()
    channel.refresh_from_db()
    assert channel.target == "on-call@example.com"


def test_a_test_by_mail(operator: Client) -> None:
    channel = channel_of("mail")
    operator.post(f"/settings/channels/{channel.pk}/test/")
    assert mail.outbox[0].to == ["on-call@example.com"]
    assert "the mail server took it for 1 address" in body(operator, f"/settings/channels/{channel.pk}/")


def test_the_log_and_the_list_say_what_did_not_arrive(world: World, operator: Client) -> None:
    channel, alert = channel_of("mail"), alert_of("acme")
    lost = {"state": "given_up", "attempts": 10, "answer": "HTTP 500: no"}
    for number in range(60):
        Delivery.objects.create(key=str(number), channel=channel, alert=alert, event="fired", **lost)
    text = body(operator, "/settings/channels/")
    assert title(text) == "mail does not take its messages."
    assert "HTTP 500: no" in text
    log = body(operator, f"/settings/channels/{channel.pk}/")
    assert log.count("Given up") == 50
    assert 'rel="next"' in log
    assert "60 messages did not reach their channel today." in body(operator, "/alerts/")


def test_whoever_may_not_configure_sees_why(world: World) -> None:
    channel_of("mail")
    text = body(world.client(Role.ON_CALL), "/settings/channels/")
    assert "As on call you may not change settings: only an operator may." in text


def test_queries_do_not_grow_with_the_channels(operator: Client, django_assert_max_num_queries: Any) -> None:
    body(operator, "/settings/channels/")
    counts = []
    for size in (2, 30):
        for number in range(size):
            channel = channel_of(f"c-{size}-{number}", team=Team.objects.create(name=f"t-{size}-{number}"))
            Delivery.objects.create(key=f"{size}-{number}", channel=channel, event="test", state="sent")
            AlertRule.objects.create(signal="depth", tenant=f"t-{size}-{number}", threshold=1.0)
        with django_assert_max_num_queries(40) as asked:
            body(operator, "/settings/channels/")
            body(operator, "/settings/alert-rules/")
        counts.append(len(asked.captured_queries))
    assert counts[0] == counts[1]


def test_thresholds_stand_beside_their_defaults(operator: Client) -> None:
    text = body(operator, "/settings/alert-rules/")
    assert "none with a threshold of your own" in title(text)
    assert "over 10,000 jobs" in text
    values = {"signal": "depth", "threshold": "50,000", "for": "10m", "tenant": "acme-*", "severity": "high"}
    assert operator.post("/settings/alert-rules/set/", values).status_code == 302
    rule = AlertRule.objects.get()
    assert (rule.threshold, rule.for_s, rule.tenant, rule.severity, rule.enabled) == (
        50_000.0,
        600,
        "acme-*",
        "high",
        True,
    )
    text = body(operator, "/settings/alert-rules/")
    assert "over 50,000 jobs, for 10m, severity high" in text
    assert "tenant acme-*" in text
    text = body(operator, f"/settings/alert-rules/?rule={rule.pk}")
    assert 'name="threshold" inputmode="decimal" maxlength="20" autocomplete="off" value="50000"' in text
    operator.post(f"/settings/alert-rules/{rule.pk}/delete/")
    assert not AlertRule.objects.exists()


def test_a_signal_can_be_switched_off_somewhere(operator: Client) -> None:
    operator.post("/settings/alert-rules/set/", {"signal": "no_scheduler", "off": "1"})
    assert not AlertRule.objects.get().enabled


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"signal": "nonsense"}, "Signal: no signal is called"),
        ({"signal": ""}, "Signal: choose one."),
        ({"threshold": "many"}, "Threshold: must be a number, 0 or more"),
        ({"threshold": "-1"}, "Threshold: must be a number, 0 or more; not -1."),
        ({"threshold": "nan"}, "must be a number, 0 or more"),
        ({"threshold": ""}, "Threshold: say what is to be different"),
        ({"for": "long"}, "Held for:"),
        ({"for": "400d"}, "Held for: must be a whole number of seconds"),
        ({"severity": "worst"}, "Severity: must be one of"),
        ({"owner": "no such!"}, "Told to: &#x27;no such!&#x27; cannot be the name of a team"),
        ({"owner": "nobody"}, "Told to: no team is called"),
        ({"tenant": "nosuch"}, "Tenant: &#x27;nosuch&#x27; is not known; for such as are still to come use a pattern"),
        ({"team": "nosuch"}, "Team: alerts of depth (“A deep queue”) are of a tenant or a lane, not of a team"),
        ({"signal": "no_scheduler", "threshold": "5"}, "switch it off instead"),
    ],
)
def test_a_threshold_that_cannot_be_is_refused(operator: Client, form: dict[str, str], words: str) -> None:
    answer = operator.post("/settings/alert-rules/set/", {"signal": "depth", "threshold": "5", **form})
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not AlertRule.objects.exists()


def test_what_people_and_servers_write_stays_text(operator: Client) -> None:
    """SE-01"""
    channel = channel_of(HOSTILE[:50])
    Delivery.objects.create(key="1", channel=channel, event="test", state="given_up", answer=HOSTILE)
    AlertRule.objects.create(signal="depth", tenant=HOSTILE, owner=HOSTILE, by=HOSTILE, updated_at=timezone.now())
    for url in ("/settings/channels/", f"/settings/channels/{channel.pk}/", "/settings/alert-rules/"):
        text = body(operator, url)
        assert "<script>alert" not in text
        assert '" onmouseover="' not in text
        assert "&lt;script&gt;" in text
