"""What people do about alerts, silences and thresholds. Pages and commands call these and nothing else.

Each change is committed with its row in the audit. Callers have asked ``access.can`` before: ``ACKNOWLEDGE`` for an
alert, ``SILENCE`` for a silence, ``CONFIGURE`` for a rule.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from jobops.alerts import fields
from jobops.alerts.errors import InvalidAlertAction, NoSuchAlert, WrongAlertState
from jobops.alerts.models import Alert, AlertRule, Silence
from jobops.alerts.routing import ACKNOWLEDGED, notify
from jobops.alerts.rules import SCOPE
from jobops.audit.recording import Change, difference, record
from tenants.services import Actor, actor_name

UNSET = fields.UNSET


def alert_acknowledge(*, alert_id: int, by: Actor, minutes: int = 60) -> Alert:
    """Somebody has it: no reminders and no escalation for so many minutes, then it fires again if it is still wrong.

    Of one that is acknowledged already this takes it over, or gives it more time. Answers the alert as it is now.
    Raises InvalidAlertAction, NoSuchAlert, or WrongAlertState when it is resolved.
    """
    until = timezone.now() + timedelta(minutes=fields.clean_minutes(minutes))
    with transaction.atomic():
        alert = Alert.objects.select_for_update().filter(pk=alert_id).first()
        if alert is None:
            raise NoSuchAlert("alert", alert_id)
        if alert.resolved_at is not None:
            raise WrongAlertState("alert", alert_id, "it is over by itself already: there is nothing to acknowledge")
        before = {"state": alert.state, "acknowledged_by": alert.acknowledged_by}
        alert.state = Alert.State.ACKNOWLEDGED
        alert.acknowledged_by, alert.acknowledged_at = actor_name(by), timezone.now()
        alert.acknowledged_until = until
        alert.save(update_fields=["state", "acknowledged_by", "acknowledged_at", "acknowledged_until"])
        after = {"state": alert.state, "acknowledged_by": alert.acknowledged_by, "until": until.isoformat()}
        record(by, Change("alert.acknowledge", "alert", alert.pk, before=before, after=after, reason=alert.title))
        if alert.notices:
            notify(alert, ACKNOWLEDGED)
    return alert


def silence_create(*, by: Actor, reason: str, ends_at: datetime, **matcher: Any) -> Silence:
    """Tell nobody of alerts that fit until then. ``matcher``: globs for ``signal``, ``tenant``, ``lane``, ``job_type``
    and ``team``, and the number of a ``group``; at least one of them.

    Raises InvalidAlertAction.
    """
    values = fields.clean_matcher(matcher)
    text = fields.clean_reason(reason)
    end = fields.clean_end(ends_at, timezone.now())
    with transaction.atomic():
        silence = Silence.objects.create(**values, reason=text, by=actor_name(by), ends_at=end)
        after = {**{name: value for name, value in values.items() if value}, "ends_at": end.isoformat()}
        record(by, Change("silence.create", "silence", silence.pk, after=after, reason=text))
    return silence


def silence_end(*, silence_id: int, by: Actor) -> Silence:
    """Tell people again from now on, also of what has begun meanwhile. Raises NoSuchAlert or WrongAlertState."""
    now = timezone.now()
    with transaction.atomic():
        silence = Silence.objects.select_for_update().filter(pk=silence_id).first()
        if silence is None:
            raise NoSuchAlert("silence", silence_id)
        if silence.ends_at <= now:
            raise WrongAlertState("silence", silence_id, "it has ended already")
        was = silence.ends_at
        silence.ends_at = now
        silence.save(update_fields=["ends_at"])
        before, after = {"ends_at": was.isoformat()}, {"ends_at": now.isoformat()}
        record(by, Change("silence.end", "silence", silence.pk, before=before, after=after, reason=silence.reason))
    return silence


def rule_set(
    *,
    by: Actor,
    signal: str,
    threshold: float | fields.Unset | None = UNSET,
    for_s: int | fields.Unset | None = UNSET,
    severity: str | fields.Unset = UNSET,
    owner: str | fields.Unset = UNSET,
    enabled: bool | fields.Unset = UNSET,
    **scope: str,
) -> AlertRule:
    """A threshold of one's own for a signal where the scope (globs: ``tenant``, ``lane``, ``job_type``, ``team``) fits;
    without a scope, everywhere. There is one rule for a scope: what is not given of one that exists stays as it is.

    ``threshold`` in the signal's unit and ``for_s`` None, ``severity`` and ``owner`` empty: as the signal has it.
    Raises InvalidAlertAction.
    """
    name = fields.clean_signal(signal)
    where = fields.clean_scope(name, scope)
    given = fields.clean_rule(name, threshold=threshold, for_s=for_s, severity=severity, owner=owner, enabled=enabled)
    with transaction.atomic():
        rule = AlertRule.objects.select_for_update().filter(signal=name, **where).order_by("pk").first()
        before = _facts(rule) if rule is not None else {}
        rule = rule or AlertRule(signal=name, **where)
        for field, value in given.items():
            setattr(rule, field, value)
        _refuse_empty(rule)
        rule.by = actor_name(by)
        rule.save()
        was, now = difference(before, _facts(rule))
        record(by, Change("alert_rule.set", "alert_rule", rule.pk, before=was, after=now))
    return rule


def rule_delete(*, rule_id: int, by: Actor) -> None:
    """What the next wider rule says, or the signal's default, holds again. Raises NoSuchAlert."""
    with transaction.atomic():
        rule = AlertRule.objects.select_for_update().filter(pk=rule_id).first()
        if rule is None:
            raise NoSuchAlert("alert threshold", rule_id)
        facts = _facts(rule)
        rule.delete()
        record(by, Change("alert_rule.delete", "alert_rule", rule_id, before=facts))


def _refuse_empty(rule: AlertRule) -> None:
    """One that leaves all to the signal says nothing, but where another rule of it would hold."""
    says = rule.threshold is not None or rule.for_s is not None or rule.severity or rule.owner or not rule.enabled
    if not says and not AlertRule.objects.filter(signal=rule.signal).exclude(pk=rule.pk).exists():
        change = "nothing would be left of it: take it back instead" if rule.pk else "say what is to be different"
        raise InvalidAlertAction("threshold", f"{change}; this is what holds without it")


def _facts(rule: AlertRule) -> dict[str, Any]:
    """As the audit holds a rule: what it is about, and what it says."""
    facts = {name: getattr(rule, name) for name in ("signal", *SCOPE, "threshold", "for_s", "severity", "owner")}
    return {**{name: value for name, value in facts.items() if value not in ("", None)}, "enabled": rule.enabled}
