"""Fixtures of the channels' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from jobops.alerts.messages import message_of
from jobops.alerts.models import Alert, Channel, Delivery
from tests.alerts.channels.sink import Sink, sink

MakeChannel = Callable[..., Channel]
SIGNING_KEY = "0123456789abcdef-signing"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Sink]:
    """A receiver that webhooks may go to, although it is on this machine."""
    with sink() as found:
        settings.JOBOPS_ALERT_ALLOW_PRIVATE_SINK = [found.url]
        settings.JOBOPS_BASE_URL = "https://jobops.example.com"
        yield found


def alert_of(**fields: Any) -> Alert:
    """An open alert."""
    values: dict[str, Any] = {
        "key": "dlq_breach:group:5",
        "signal": "dlq_breach",
        "scope": {"tenant": "acme", "group": 5},
        "severity": "critical",
        "owner": "payments",
        "title": "212 dead letters are past their deadline",
        "detail": "export worker ran out of memory, nearly all from acme-retail",
        "path": "/dlq/groups/5/",
        "value": 212.0,
        "due_at": timezone.now(),
    }
    return Alert.objects.create(**(values | fields))


def channel_of(url: str, kind: str = "webhook", **fields: Any) -> Channel:
    """A channel that leads there."""
    values = {"name": f"to {kind}", "kind": kind, "target": url, "secret": SIGNING_KEY}
    return Channel.objects.create(**(values | fields))


def delivery_of(channel: Channel, alert: Alert, event: str = "fired", **fields: Any) -> Delivery:
    """A message that waits."""
    count = Delivery.objects.count()
    values = {"key": f"{alert.pk}:{channel.pk}:{event}:{count}", "message": message_of(alert, event)}
    return Delivery.objects.create(alert=alert, channel=channel, event=event, **(values | fields))
