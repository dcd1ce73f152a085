"""Alerts as pages and commands list them: the only door for people, who must be staff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, IntegerField, QuerySet, Value, When
from django.http import Http404
from django.utils import timezone

from dlq.access import MAX_ID
from jobops.alerts.models import Alert, Silence
from jobops.alerts.silencing import in_force, silence_of
from jobops.alerts.urgency import SEVERITIES
from tenants.access import AnyUser, sees_all


@dataclass(frozen=True, slots=True)
class Standing:
    """An alert and what holds of it now. ``silence``: why nobody is told of it; None where people are."""

    alert: Alert
    silence: Silence | None

    @property
    def word(self) -> str:
        """``firing``, ``silenced``, ``acknowledged`` or ``resolved``."""
        state = self.alert.state
        return "silenced" if state == Alert.State.FIRING and self.silence is not None else str(state)


@dataclass(frozen=True, slots=True)
class Counts:
    """How many alerts are open: those that somebody should look at, those that somebody has, those silenced."""

    firing: int = 0
    acknowledged: int = 0
    silenced: int = 0


def alerts_visible_to(user: AnyUser) -> QuerySet[Alert]:
    """All for staff; a tenant's people have none: alerts tell of other tenants and of the machinery."""
    return Alert.objects.all() if sees_all(user) else Alert.objects.none()


def get_alert(user: AnyUser, alert_id: int) -> Alert:
    """The alert of this number; raises ``Http404`` alike for none and for one that is not for this person."""
    alert = alerts_visible_to(user).filter(pk=alert_id).first() if 0 < alert_id <= MAX_ID else None
    if alert is None:
        raise Http404("No such alert.")
    return alert


def open_alerts(alerts: QuerySet[Alert] | None = None) -> QuerySet[Alert]:
    """Those that are not resolved: firing before acknowledged, the most severe first, of such as are as severe what is
    due first, then the oldest; what has no deadline comes after what has one."""
    chosen = (Alert.objects.all() if alerts is None else alerts).filter(resolved_at__isnull=True)
    ranks = [When(severity=name, then=Value(-rank)) for rank, name in enumerate(SEVERITIES)]
    acknowledged = Case(When(state=Alert.State.ACKNOWLEDGED, then=Value(1)), default=Value(0))
    return chosen.annotate(
        is_known=acknowledged, urgency=Case(*ranks, default=Value(0), output_field=IntegerField())
    ).order_by("is_known", "urgency", F("due_at").asc(nulls_last=True), "since", "pk")


def with_silences(alerts: Sequence[Alert], now: datetime | None = None) -> list[Standing]:
    """Each alert with the silence that is over it; one query for all. Of one that is resolved none is looked for."""
    silences = list(in_force(now or timezone.now()))
    return [Standing(each, silence_of(each, silences) if each.resolved_at is None else None) for each in alerts]


def counts(now: datetime | None = None) -> Counts:
    """Of all open alerts, for the menu and the overview; two queries."""
    chosen = Alert.objects.filter(resolved_at__isnull=True).only("state", "signal", "scope", "owner", "resolved_at")
    words = [each.word for each in with_silences(list(chosen), now)]
    return Counts(words.count("firing"), words.count("acknowledged"), words.count("silenced"))
