"""One of each thing of the alerts, for tests that open every page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from jobops.alerts.models import Alert, AlertRule, Channel, Silence


def alert_of(key: str, **fields: Any) -> Alert:
    """An open alert about a tenant."""
    values: dict[str, Any] = {
        "key": key,
        "signal": "depth",
        "scope": {"tenant": key, "lane": "bulk"},
        "owner": "platform",
        "title": f"{key} has 48,210 jobs waiting in bulk",
        "detail": "over 10,000 for 25 min",
        "path": f"/tenants/{key}/",
        "value": 48_210.0,
        "threshold": 10_000.0,
        "since": timezone.now() - timedelta(minutes=25),
    }
    return Alert.objects.create(**(values | fields))


def channel_of(name: str, **fields: Any) -> Channel:
    """A channel that reaches nobody."""
    values = {"name": name, "kind": "email", "target": "on-call@example.com"}
    return Channel.objects.create(**(values | fields))


def silence_of(**fields: Any) -> Silence:
    """A silence in force for an hour."""
    values: dict[str, Any] = {"tenant": "quiet-*", "reason": "they move house", "by": "olga"}
    return Silence.objects.create(**({"ends_at": timezone.now() + timedelta(hours=1)} | values | fields))


def alert_things(slug: str) -> dict[str, int]:
    """An alert, a silence, a channel and a threshold, by the names that URLs have for their numbers."""
    rule = AlertRule.objects.create(signal="depth", tenant=slug, threshold=5.0, by="olga")
    return {
        "alert_id": alert_of(slug).pk,
        "silence_id": silence_of(tenant=slug).pk,
        "channel_id": channel_of(f"channel of {slug}").pk,
        "rule_id": rule.pk,
    }


def state_of_alerts() -> list[Any]:
    """All that an act on them could change, to be compared."""
    return [
        list(Alert.objects.order_by("pk").values("pk", "state", "acknowledged_by")),
        list(Silence.objects.order_by("pk").values("pk", "ends_at", "reason")),
        list(Channel.objects.order_by("pk").values("pk", "name", "target", "secret", "enabled")),
        list(AlertRule.objects.order_by("pk").values("pk", "signal", "threshold", "enabled")),
    ]
