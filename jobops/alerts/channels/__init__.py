"""The ways to tell people: each sends one message and answers what the other side said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobops.alerts.channels import email, pagerduty, slack, webhook
from jobops.alerts.channels.answers import Answer, told
from jobops.alerts.models import Channel

SENDERS = {
    Channel.Kind.EMAIL.value: email.send,
    Channel.Kind.SLACK.value: slack.send,
    Channel.Kind.PAGERDUTY.value: pagerduty.send,
    Channel.Kind.WEBHOOK.value: webhook.send,
}


def send(channel: Channel, message: Mapping[str, Any]) -> Answer:
    """Send one message, as ``messages.message_of`` makes it with the delivery's key as ``id``; takes a bounded time.

    Never raises: a fault of ours is an answer too, and is tried again like any other.
    """
    try:
        return SENDERS[channel.kind](channel, message)
    except Exception as error:  # noqa: BLE001  (one channel's fault must not keep the others from being told)
        return Answer(False, text=told(f"{type(error).__name__}: {error}", [channel.target, channel.secret]))
