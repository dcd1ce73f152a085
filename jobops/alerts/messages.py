"""What people are told: facts of an alert as plain JSON, and the sentences that every channel makes of them.

A message is made in the episode's transaction and kept with its delivery, so that a late one still says what was so.
Everything in it is plain text: each channel escapes it for its own medium.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from dlq.text import one_line
from jobops.alerts.models import Alert, Channel
from jobops.contracts.catalog.words import span

LONGEST_LINE = 500

EVENTS = {
    "fired": "Firing",
    "reminder": "Still firing",
    "escalated": "Escalated",
    "acknowledged": "Acknowledged",
    "resolved": "Resolved",
    "test": "Test",
}
SCOPE = ("tenant", "lane", "job_type", "team", "group")
WORDS = {"job_type": "job type", "group": "cause"}
"""Parts of a scope that people know by another name."""


def message_of(alert: Alert, event: str) -> dict[str, Any]:
    """The message of an event, one of ``EVENTS``.

    Who tells of several alerts at once adds ``also``, a list of objects with the others' ``title``, ``also_count``, and
    ``also_alerts``, the numbers of all the others.
    """
    scope = {name: alert.scope[name] for name in SCOPE if alert.scope.get(name) not in (None, "")}
    return {
        "event": event,
        "key": alert.key,
        "episode": alert.pk,
        "signal": alert.signal,
        "severity": alert.severity,
        "title": one_line(alert.title, LONGEST_LINE),
        "detail": one_line(alert.detail, LONGEST_LINE),
        "value": alert.value,
        "threshold": alert.threshold,
        "owner": alert.owner,
        "scope": scope,
        "since": iso(alert.since),
        "due_at": iso(alert.due_at),
        "resolved_at": iso(alert.resolved_at),
        "acknowledged_by": alert.acknowledged_by if event == "acknowledged" else "",
        "url": link(alert.path or f"/alerts/{alert.pk}/"),
        "alert_url": link(f"/alerts/{alert.pk}/"),
        "also": [],
        "also_count": 0,
        "also_alerts": [],
        "made_at": iso(timezone.now()),
    }


def test_message(channel: Channel, by: str) -> dict[str, Any]:
    """A message that only shows that the way is open; it has the fields of any other."""
    now = timezone.now()
    alert = Alert(
        pk=0,
        key=f"jobops-test-{channel.pk}",
        signal="test",
        severity="low",
        owner=channel.team.name if channel.team is not None else settings.JOBOPS_DEFAULT_OWNER,
        title=f"This is a test of the channel {channel.name}",
        detail=f"{by} sent it. Nothing is wrong, and nothing is to be done.",
        path="/settings/channels/",
        since=now,
    )
    return {**message_of(alert, "test"), "alert_url": link("/settings/channels/"), "episode": None}


def link(path: str) -> str:
    """The whole address of a page of ours; without ``JOBOPS_BASE_URL`` its path, which is better than nothing."""
    return f"{settings.JOBOPS_BASE_URL}{path}"


def headline(message: Mapping[str, Any]) -> str:
    """``Firing: 212 dead letters are past their deadline``; of several, how many more. Of one that is over the title is
    what was last so: ``Resolved after 33 min. It was: 212 dead letters are past their deadline``."""
    more = int(message.get("also_count") or 0)
    also = f" (and {more:,} more like it)" if more else ""
    word = EVENTS.get(str(message["event"]), str(message["event"]))
    if _is_over(message):
        word = f"{word}{_lasted(message)}. It was"
    return f"{word}: {message['title']}{also}"


def lines(message: Mapping[str, Any]) -> list[str]:
    """What follows the headline, line by line: detail, owner, since, due, what it is about; without the link."""
    scope = ", ".join(f"{WORDS.get(name, name)} {value}" for name, value in message["scope"].items())
    over = _is_over(message)
    found = [
        f"Last read: {message['detail']}" if over and message["detail"] else message["detail"],
        *(f"Also: {each['title']}" for each in message.get("also", ())),
        _left_out(message),
        f"Owner: {message['owner']}. Severity: {message['severity']}.",
        f"Since {at_words(message['since'])}." if message["since"] else "",
        f"Due {at_words(message['due_at'])}." if message["due_at"] and not over else "",
        f"Resolved {at_words(message['resolved_at'])}." if message["resolved_at"] else "",
        f"{message['acknowledged_by']} has acknowledged it." if message["acknowledged_by"] else "",
        f"About: {scope}." if scope else "",
    ]
    return [one_line(line, LONGEST_LINE) for line in found if line]


def at_words(text: str) -> str:
    """An instant of a message for people, in UTC: readers sit in many zones. ``Mon 30 Nov 2026, 03:54 UTC``."""
    at = datetime.fromisoformat(text).astimezone(UTC)
    return f"{at:%a} {at.day} {at:%b %Y, %H:%M} UTC"


def iso(at: datetime | None) -> str | None:
    """ISO 8601 in UTC to the second; None for none."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _is_over(message: Mapping[str, Any]) -> bool:
    return str(message["event"]) == "resolved"


def _lasted(message: Mapping[str, Any]) -> str:
    """`` after 33 min``; the empty string where one of its ends is not known."""
    if not message["since"] or not message["resolved_at"]:
        return ""
    lasted = datetime.fromisoformat(message["resolved_at"]) - datetime.fromisoformat(message["since"])
    return f" after {span(max(0.0, lasted.total_seconds()))}"


def _left_out(message: Mapping[str, Any]) -> str:
    more = int(message.get("also_count") or 0) - len(message.get("also", ()))
    return f"Also: {more:,} more." if more > 0 else ""
