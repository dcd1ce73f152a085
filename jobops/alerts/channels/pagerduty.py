"""PagerDuty's Events API, version 2: an incident opens, is acknowledged and ends with its alert."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from jobops.alerts.channels.answers import Answer
from jobops.alerts.channels.posting import post
from jobops.alerts.messages import headline, lines
from jobops.alerts.models import Channel

DEFAULT_URL = "https://events.pagerduty.com/v2/enqueue"
ACTIONS = {"acknowledged": "acknowledge", "resolved": "resolve"}
"""Every other event triggers: of an incident that is open already, that is one more line in its log."""

SEVERITIES = {"low": "info", "normal": "warning", "high": "error", "critical": "critical"}
LONGEST_KEY = 255
LONGEST_SUMMARY = 1024


def send(channel: Channel, message: Mapping[str, Any]) -> Answer:
    """Send one event; its key is the alert's, so that a second one of the same episode opens no second incident."""
    url = channel.target or DEFAULT_URL
    return post(url, json.dumps(event_of(channel, message)).encode(), {}, secrets=[channel.secret])


def event_of(channel: Channel, message: Mapping[str, Any]) -> dict[str, Any]:
    """The event as the API wants it."""
    event: dict[str, Any] = {
        "routing_key": channel.secret,
        "event_action": ACTIONS.get(str(message["event"]), "trigger"),
        "dedup_key": dedup_key(str(message["key"])),
    }
    if event["event_action"] != "trigger":
        return event
    payload = {
        "summary": headline(message)[:LONGEST_SUMMARY],
        "source": str(message["scope"].get("tenant") or message["owner"] or "jobops"),
        "severity": SEVERITIES.get(str(message["severity"]), "warning"),
        "timestamp": message["since"],
        "component": str(message["scope"].get("job_type") or message["signal"]),
        "group": str(message["owner"]),
        "class": str(message["signal"]),
        "custom_details": {"text": "\n".join(lines(message)), "delivery": message["id"]},
    }
    links = [{"href": message[name], "text": text} for name, text in (("url", "Open"), ("alert_url", "The alert"))]
    whole = [each for each in links if str(each["href"]).startswith("http")]
    return {**event, "payload": payload, "client": "jobops", "links": whole}


def dedup_key(key: str) -> str:
    """The alert's key; of one that is too long, its beginning and what makes it unlike others."""
    if len(key) <= LONGEST_KEY:
        return key
    return f"{key[: LONGEST_KEY - 33]}~{sha256(key.encode()).hexdigest()[:32]}"
