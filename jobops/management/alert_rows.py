"""Alerts, silences and thresholds as ``manage.py alerts`` prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from jobops.alerts.judging import Judged, Look, Standing
from jobops.alerts.matching import PARTS
from jobops.alerts.messages import SCOPE, WORDS
from jobops.alerts.models import Alert, AlertRule, Delivery, Silence
from jobops.alerts.reading import Standing as AlertStanding
from jobops.alerts.reading import with_silences
from jobops.alerts.signals import SIGNALS
from jobops.contracts.catalog.words import span
from jobops.management.base import iso

ALERTS = ("id", "state", "severity", "title", "owner", "since", "acknowledged_by", "silenced_until")
SILENCES = ("id", "signal", *PARTS, "group", "reason", "by", "ends_at")
RULES = ("id", "signal", *PARTS, "threshold", "unit", "for_s", "severity", "owner", "enabled", "by")
OVER = ("signal", "subject", "value", "threshold", "unit", "for_s", "since", "title")


def alert_rows(alerts: Sequence[Alert]) -> list[dict[str, Any]]:
    """One row each; ``state`` is firing, silenced, acknowledged or resolved."""
    return [_alert(each) for each in with_silences(alerts)]


def alert_details(alert: Alert) -> dict[str, Any]:
    """One alert with its messages, the newest first."""
    row = alert_rows([alert])[0]
    sent = Delivery.objects.filter(alert=alert).select_related("channel").order_by("-pk")[:50]
    told = [
        {
            "channel": each.channel.name,
            "event": each.event,
            "state": each.state,
            "attempts": each.attempts,
            "answer": each.answer,
            "created_at": iso(each.created_at),
            "sent_at": iso(each.sent_at),
        }
        for each in sent
    ]
    return {**row, "deliveries": told}


def detail_lines(shown: Mapping[str, Any]) -> list[str]:
    """What ``alert_details`` says, line by line, as people read it, but for its messages."""
    width = max(len(name) for name in shown) + 2
    lines = []
    for name, value in shown.items():
        if name == "scope":
            # In one order: PostgreSQL keeps none.
            value = ", ".join(f"{WORDS.get(part, part)} {value[part]}" for part in SCOPE if part in value)
        elif name == "age":
            value = span(value)
        elif isinstance(value, float):
            value = f"{value:,.15g}"
        text = "-" if value in (None, "") else str(value)
        lines.append(f"{name.replace('_', ' '):<{width}}{text}")
    return lines


def silence_rows(silences: Sequence[Silence]) -> list[dict[str, Any]]:
    """One row each."""
    return [
        {name: getattr(each, name) for name in SILENCES if name not in ("id", "ends_at")}
        | {"id": each.pk, "starts_at": iso(each.starts_at), "ends_at": iso(each.ends_at)}
        for each in silences
    ]


def rule_rows(rules: Sequence[AlertRule]) -> list[dict[str, Any]]:
    """The defaults of every signal, each followed by the rules that people made."""
    rows: list[dict[str, Any]] = []
    for signal in SIGNALS.values():
        usual = {"id": None, "signal": signal.name, **dict.fromkeys(PARTS, ""), "threshold": signal.threshold}
        rows.append(
            usual
            | {"unit": signal.unit, "for_s": signal.for_s, "severity": signal.severity, "owner": "", "by": ""}
            | {"enabled": signal.threshold is not None}
        )
        rows += [rule_row(rule) for rule in rules if rule.signal == signal.name]
    return rows


def rule_row(rule: AlertRule) -> dict[str, Any]:
    """One rule; what it leaves to the signal is empty."""
    signal = SIGNALS.get(rule.signal)
    row = {name: getattr(rule, name) for name in RULES if name not in ("id", "unit")}
    return row | {"id": rule.pk, "unit": signal.unit if signal is not None else "", "updated_at": iso(rule.updated_at)}


def over_rows(look: Look, since: dict[str, datetime]) -> list[dict[str, Any]]:
    """What is over its threshold now. ``since``: key → since when, of what has been so for a while."""
    return [_over(each, since.get(each.key)) for each in look.judged.values() if each.standing is Standing.OVER]


def _over(each: Judged, since: datetime | None) -> dict[str, Any]:
    return {
        "signal": each.signal.name,
        "subject": each.reading.subject,
        "value": round(each.reading.value, 3),
        "threshold": each.limit.threshold,
        "unit": each.signal.unit,
        "for_s": each.limit.for_s,
        "since": iso(since),
        "title": each.reading.title,
    }


def _alert(standing: AlertStanding) -> dict[str, Any]:
    alert, silence = standing.alert, standing.silence
    return {
        "id": alert.pk,
        "key": alert.key,
        "signal": alert.signal,
        "state": standing.word,
        "severity": alert.severity,
        "title": alert.title,
        "detail": alert.detail,
        "owner": alert.owner,
        "scope": alert.scope,
        "value": alert.value,
        "threshold": alert.threshold,
        "path": alert.path,
        "since": iso(alert.since),
        "age": round(max(0.0, ((alert.resolved_at or timezone.now()) - alert.since).total_seconds()), 3),
        "due_at": iso(alert.due_at),
        "acknowledged_by": alert.acknowledged_by if alert.state == Alert.State.ACKNOWLEDGED else "",
        "acknowledged_until": iso(alert.acknowledged_until),
        "escalated_at": iso(alert.escalated_at),
        "notices": alert.notices,
        "resolved_at": iso(alert.resolved_at),
        "silenced_until": iso(silence.ends_at) if silence is not None else None,
    }
