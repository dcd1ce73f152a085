"""What each channel makes of a message: all one needs to act from a phone, and nothing that runs or rings."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from pytest_django import Settings

from jobops.alerts import channels
from jobops.alerts.channels import pagerduty
from jobops.alerts.channels.email import NO_SERVER
from jobops.alerts.messages import headline, lines, message_of
from jobops.alerts.models import Alert
from tests.alerts.channels.conftest import SIGNING_KEY, alert_of, channel_of
from tests.alerts.channels.sink import Sink

pytestmark = pytest.mark.django_db
SINCE, DUE = datetime(2026, 11, 30, 2, 41, 9, tzinfo=UTC), datetime(2026, 11, 30, 3, 54, tzinfo=UTC)
FACTS = ["212 dead letters are past their deadline", "Owner: payments", "Since Mon 30 Nov 2026, 02:41 UTC"]
FACTS += ["Due Mon 30 Nov 2026, 03:54 UTC", "https://jobops.example.com/dlq/groups/5/"]
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!channel> <@U012> <https://evil.example|press>",
    "@here @channel @everyone",
    "[press](https://evil.example) ![x](https://evil.example/p.png)",
    "```block",
    '" onmouseover="alert(1)',
    "two\nlines\r\nBcc: victim@example.com",
    "\u202egnp.exe\x07",
]


def told(event: str = "fired", **fields: Any) -> tuple[Alert, dict[str, Any]]:
    alert = alert_of(since=SINCE, due_at=DUE, **fields)
    return alert, {**message_of(alert, event), "id": "7:1:fired:0"}


def test_a_message_says_what_how_many_since_when_whose_due_and_where(receiver: Sink) -> None:
    _, message = told()
    text = "\n".join([headline(message), *lines(message), message["url"]])
    assert [fact for fact in FACTS if fact not in text] == []
    assert text.startswith("Firing: 212 dead letters")
    assert "About: tenant acme, cause 5." in text


def test_what_is_over_is_told_as_what_was_and_how_long_it_lasted(receiver: Sink) -> None:
    _, message = told("resolved", state="resolved", resolved_at=SINCE + timedelta(minutes=33))
    text = "\n".join([headline(message), *lines(message)])
    assert headline(message) == "Resolved after 33 min. It was: 212 dead letters are past their deadline"
    assert lines(message)[0] == "Last read: export worker ran out of memory, nearly all from acme-retail"
    assert "Resolved Mon 30 Nov 2026, 03:14 UTC." in text
    assert "Due " not in text, "nothing is due any more"
    assert "Last read: \n" not in "\n".join([*lines({**message, "detail": ""}), ""])


def test_one_message_for_many_names_them_and_says_how_many_more(receiver: Sink) -> None:
    _, message = told()
    message |= {"also": [{"title": "3 of export"}, {"title": "2 of mail"}], "also_count": 40}
    assert headline(message).endswith("(and 40 more like it)")
    assert [line for line in lines(message) if line.startswith("Also")] == [
        "Also: 3 of export",
        "Also: 2 of mail",
        "Also: 38 more.",
    ]


def test_slack_gets_one_text(receiver: Sink) -> None:
    _, message = told()
    assert channels.send(channel_of(f"{receiver.url}/services/T/B/x", "slack"), message).ok
    body = json.loads(receiver.got[0].body)
    assert list(body) == ["text"]
    assert [fact for fact in FACTS if fact not in body["text"]] == []
    assert receiver.got[0].headers["Idempotency-Key"] == "7:1:fired:0"


@pytest.mark.parametrize("text", HOSTILE)
def test_in_slack_nothing_that_a_job_says_is_a_mention_a_link_or_markup(receiver: Sink, text: str) -> None:
    """SE-01"""
    _, message = told(title=text, detail=text, owner=text, scope={"tenant": text})
    message["also"] = [{"title": text}]
    channels.send(channel_of(receiver.url, "slack"), message)
    sent = json.loads(receiver.got[0].body)["text"]
    mentions = ("<", ">", "@here", "@channel", "@everyone", "](", "`", "evil.example/p.png)", "\x07", "\u202e")
    assert [each for each in mentions if each in sent and each != "evil.example/p.png)"] == []
    assert sent.count("://") == 1  # our own


def test_pagerduty_opens_acknowledges_and_ends_one_incident(receiver: Sink) -> None:
    channel = channel_of(f"{receiver.url}/v2/enqueue", "pagerduty")
    alert, message = told()
    for event in ("fired", "reminder", "escalated", "acknowledged", "resolved"):
        assert channels.send(channel, {**message_of(alert, event), "id": event}).ok
    events = [json.loads(got.body) for got in receiver.got]
    assert [each["event_action"] for each in events] == ["trigger", "trigger", "trigger", "acknowledge", "resolve"]
    assert {each["dedup_key"] for each in events} == {alert.key}
    assert {each["routing_key"] for each in events} == {SIGNING_KEY}
    payload = events[0]["payload"]
    assert payload["severity"] == "critical"
    assert payload["timestamp"] == "2026-11-30T02:41:09Z"
    assert payload["summary"] == headline(message)
    assert events[0]["links"][0]["href"] == "https://jobops.example.com/dlq/groups/5/"


def test_a_long_key_stays_one_key_and_fits() -> None:
    one, other = "x" * 300, "x" * 299 + "y"
    assert len(pagerduty.dedup_key(one)) == 255
    assert pagerduty.dedup_key(one) != pagerduty.dedup_key(other)
    assert pagerduty.dedup_key(one) == pagerduty.dedup_key("x" * 300)


def test_a_webhook_is_signed_over_its_timestamp_and_body(receiver: Sink) -> None:
    _, message = told()
    assert channels.send(channel_of(receiver.url), message).ok
    got = receiver.got[0]
    stamp = got.headers["X-Jobops-Timestamp"]
    expected = hmac.new(SIGNING_KEY.encode(), stamp.encode() + b"." + got.body, hashlib.sha256).hexdigest()
    assert got.headers["X-Jobops-Signature"] == f"v1={expected}"
    assert abs(time.time() - int(stamp)) < 60
    assert json.loads(got.body) == message
    assert got.headers["Idempotency-Key"] == "7:1:fired:0"


def test_a_mail_goes_to_every_address_as_plain_text(receiver: Sink) -> None:
    _, message = told()
    answer = channels.send(channel_of("a@example.com, b@example.com", "email"), message)
    assert answer.ok
    sent = mail.outbox[0]
    assert sent.to == ["a@example.com", "b@example.com"]
    assert sent.subject == "[jobops] Firing: 212 dead letters are past their deadline"
    assert [fact for fact in FACTS if fact not in sent.body] == []
    assert sent.content_subtype == "plain"
    assert not getattr(sent, "alternatives", [])


def test_the_same_delivery_is_the_same_mail(receiver: Sink) -> None:
    _, message = told()
    channel = channel_of("a@example.com", "email")
    for name in ("one", "one", "two"):
        channels.send(channel, {**message, "id": name})
    ids = [sent.extra_headers["Message-ID"] for sent in mail.outbox]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_mail_has_no_header_and_no_part_that_a_job_wrote(receiver: Sink, text: str) -> None:
    """SE-01"""
    _, message = told(title=text, detail=text, owner=text)
    assert channels.send(channel_of("a@example.com", "email"), message).ok
    parsed = mail.outbox[0].message()
    assert parsed.get_content_type() == "text/plain"
    assert parsed["Bcc"] is None
    assert "\n" not in mail.outbox[0].subject


def test_without_a_mail_server_it_says_what_to_set(settings: Settings, receiver: Sink) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", ""
    _, message = told()
    answer = channels.send(channel_of("a@example.com", "email"), message)
    assert (answer.ok, answer.text) == (False, NO_SERVER)


def test_a_mail_server_that_is_away_is_an_answer(settings: Settings, receiver: Sink) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_HOST = "django.core.mail.backends.smtp.EmailBackend", "127.0.0.1"
    settings.EMAIL_PORT = 1  # nobody listens there
    settings.EMAIL_HOST_PASSWORD = "s3cr3t-password"
    _, message = told()
    answer = channels.send(channel_of("a@example.com", "email"), message)
    assert not answer.ok
    assert "refused" in answer.text.lower()


def test_a_fault_of_ours_is_an_answer_without_the_secrets(receiver: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_of(f"{receiver.url}/s3cr3t-token")

    def breaks(*args: object) -> None:
        raise RuntimeError(f"cannot use {channel.target} with {channel.secret}")

    monkeypatch.setitem(channels.SENDERS, "webhook", breaks)
    answer = channels.send(channel, told()[1])
    assert not answer.ok
    assert answer.text.startswith("RuntimeError: cannot use")
    assert "s3cr3t" not in answer.text
    assert SIGNING_KEY not in answer.text


def test_without_a_base_url_links_are_paths(settings: Settings) -> None:
    settings.JOBOPS_BASE_URL = ""
    assert told()[1]["url"] == "/dlq/groups/5/"
