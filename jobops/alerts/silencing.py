"""Silences: of which alerts nobody is told for now. A silenced alert is shown all the same."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from jobops.alerts.matching import Matcher
from jobops.alerts.models import Alert, Silence


def in_force(now: datetime) -> QuerySet[Silence]:
    """The silences that have begun and not ended, the one that ends first at the head."""
    return Silence.objects.filter(starts_at__lte=now, ends_at__gt=now).order_by("ends_at", "pk")


def matcher_of(silence: Silence) -> Matcher:
    """What it is about."""
    return Matcher(
        signal=silence.signal,
        tenant=silence.tenant,
        lane=silence.lane,
        job_type=silence.job_type,
        team=silence.team,
        group=silence.group,
    )


def silence_of(alert: Alert, silences: Iterable[Silence]) -> Silence | None:
    """The silence that lasts longest of those that fit this alert; None: people are told of it."""
    fitting = [each for each in silences if matcher_of(each).fits(alert.signal, alert.scope, alert.owner)]
    return max(fitting, key=lambda each: (each.ends_at, each.pk), default=None)
