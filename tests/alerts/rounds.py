"""Rounds of the alerts with values and instants that a test gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from jobops.alerts.episodes import carry_on
from jobops.alerts.judging import Look, gathered, judged
from jobops.alerts.models import Alert, AlertRule, Channel, Delivery
from jobops.alerts.rules import Limits
from jobops.alerts.signals.base import Reading, Signal
from tenants.models import Team

BEGAN = datetime(2026, 11, 30, 3, 0, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def signal(**fields: Any) -> Signal:
    usual: dict[str, Any] = {
        "name": "depth",
        "title": "A deep queue",
        "unit": "jobs",
        "threshold": 100,
        "clears_at": 90,
        "for_s": 0,
        "calm_s": 60,
        "severity": "normal",
        "about": "",
        "read": lambda sources: (),
    }
    return Signal(**(usual | fields))


def evaluate(
    minutes: float,
    values: Mapping[str, float] | float | None,
    kind: Signal | None = None,
    rules: tuple[AlertRule, ...] = (),
    **fields: Any,
) -> int:
    """One round at that minute. ``values``: subject → value, or the value of the subject ``acme``; None: the signal
    cannot be read."""
    kind = kind or signal()
    if values is None:
        return carry_on(Look({}, frozenset(), {kind.name: "Redis is away"}), at(minutes))
    pairs = values if isinstance(values, Mapping) else {"acme": values}
    usual: dict[str, Any] = {"owner": "payments", "scope": {"tenant": "acme"}}
    readings = [
        Reading(subject, value, f"{subject} has {value:g} jobs", **(usual | fields)) for subject, value in pairs.items()
    ]
    rows = judged(kind, readings, Limits(rules))
    return carry_on(Look(gathered(rows), frozenset({kind.name}), whole=False), at(minutes))


def alert() -> Alert:
    """The only one that there is."""
    return Alert.objects.get()


def channel(team: str = "payments", **fields: Any) -> Channel:
    row = Team.objects.get_or_create(name=team)[0] if team else None
    name = fields.pop("name", f"{team or 'everybody'} by mail")
    return Channel.objects.create(name=name, team=row, target="a@example.org", **({"kind": "email"} | fields))


def told(*names: str) -> list[str]:
    """The events of all messages in the order in which they were written; of these channels only, if any is named."""
    rows = Delivery.objects.order_by("pk")
    if names:
        rows = rows.filter(channel__name__in=names)
    return list(rows.values_list("event", flat=True))


def each_minute(first: int, last: int) -> Iterator[int]:
    return iter(range(first, last + 1))
