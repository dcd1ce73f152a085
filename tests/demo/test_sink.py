"""The demo's own receiver of alerts looks at the signature as any receiver should."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from jobops.alerts.channels import webhook
from jobops.alerts.models import Channel
from jobops.demo.places import Places
from jobops.demo.receiver import Desk
from jobops.demo.sink import KEEP_MESSAGES, OLDEST_S, Sink

KEY = "a key of the tests"


def signed(message: object, key: str = KEY, at: float | None = None) -> tuple[dict[str, str], bytes]:
    body = json.dumps(message).encode()
    stamp = str(int(time.time() if at is None else at))
    return {webhook.TIMESTAMP: stamp, webhook.SIGNATURE: f"v1={webhook.signature(key, stamp, body)}"}, body


def test_it_takes_what_is_signed_and_keeps_each_delivery_once() -> None:
    sink = Sink(KEY)
    assert sink.take(*signed({"id": "1:1:fired:1", "title": "first"})) == (200, "thank you")
    assert sink.take(*signed({"id": "2:1:fired:1", "title": "second"}))[0] == 200
    assert sink.take(*signed({"id": "1:1:fired:1", "title": "first"}))[0] == 200
    assert [message["title"] for message in sink.messages()] == ["second", "first"]


@pytest.mark.parametrize("wrong", ["another key", "old", "none", "changed"])
def test_it_refuses_what_is_not_signed_by_us_or_too_long_ago(wrong: str) -> None:
    sink = Sink(KEY)
    at = time.time() - OLDEST_S - 5 if wrong == "old" else None
    headers, body = signed({"id": "1"}, key="another" if wrong == "another key" else KEY, at=at)
    if wrong == "none":
        headers = {}
    if wrong == "changed":
        body = body.replace(b"1", b"2")
    assert sink.take(headers, body)[0] == 401
    assert sink.messages() == []


def test_without_a_key_nothing_is_taken() -> None:
    assert Sink().take(*signed({"id": "1"}, key=""))[0] == 401


@pytest.mark.parametrize("odd", [[], "text", {"title": "no id"}, None])
def test_what_is_no_message_is_refused(odd: object) -> None:
    assert Sink(KEY).take(*signed(odd))[0] == 400


def test_only_the_newest_are_kept() -> None:
    sink = Sink(KEY)
    for number in range(KEEP_MESSAGES + 3):
        sink.take(*signed({"id": number}))
    kept = [message["id"] for message in sink.messages()]
    assert kept == list(range(KEEP_MESSAGES + 2, 2, -1))


def test_what_the_webhook_channel_sends_arrives(desk: Desk, places: Places, settings: Any) -> None:
    """Only where a setting allows an address on the inside."""
    url = f"{places.services().receiver_url}/alerts"
    channel = Channel(kind="webhook", target=url, secret=places.alert_key.read_text())
    refused = webhook.send(channel, {"id": "1"})
    assert not refused.ok
    assert "https" in refused.text
    settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [places.services().receiver_url]
    assert webhook.send(channel, {"id": "1"}).text == "thank you"
    assert webhook.send(Channel(kind="webhook", target=url, secret="x" * 20), {"id": "2"}).status == 401
