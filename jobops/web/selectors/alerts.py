"""Alerts as their pages and the overview show them. For staff only: they tell of every tenant and of the machinery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from dlq.access import MAX_ID
from jobops.alerts.models import Alert, Delivery, Silence
from jobops.alerts.reading import Standing, alerts_visible_to, get_alert, open_alerts, with_silences
from jobops.alerts.routing import ESCALATED, FIRED
from jobops.alerts.signals import SIGNALS, Signal, causes, deadlines
from jobops.audit.models import AuditEntry
from jobops.web import alert_words
from jobops.web.formats import listed
from jobops.web.paging import Slice, id_cursor, slice_by_instant
from jobops.web.words import Look
from tenants.access import AnyUser

OF_CAUSES = tuple(signal.name for signal in (*causes.SIGNALS, *deadlines.SIGNALS))
"""The signals about dead letters, some of which are about one cause each: the key of such a one names it."""
MOST_OPEN = 500
"""Open alerts that are looked at: the first in the order of ``open_alerts``."""

SIZE = 50
LATELY = 10
IN_OVERVIEW = 6
MOST_HAPPENED = 100
MOST_LOOKED_AT = 300
"""Messages that told of several alerts, among which those are looked for that named one."""
WRITTEN_WITHIN = timedelta(minutes=1)
"""A message is written in the round that changes its alert: so long after it at most."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class AlertLine:
    """A row: how urgent, what, since when, whose. ``silence``: the one over it, if any."""

    alert: Alert
    word: str
    look: Look
    state: Look
    whose: str
    lasts: str
    silence: Silence | None = None

    @property
    def path(self) -> str:
        """The page of ours that it is about; the alert's own where it names none."""
        path = self.alert.path
        return path if path.startswith("/") and not path.startswith("//") else f"/alerts/{self.alert.pk}/"

    @property
    def signal_title(self) -> str:
        """What kind of thing it is."""
        return alert_words.signal_title(self.alert.signal)

    @property
    def is_critical(self) -> bool:
        """Whether the row stands out: nobody has it, and it is the worst there is."""
        return self.word == "firing" and self.look in alert_words.WORST


@dataclass(frozen=True, slots=True)
class AlertsPage:
    """``lines``: of the open ones, a page. ``before`` and ``after``: query strings of its neighbours."""

    standings: Sequence[Standing]
    lines: Sequence[AlertLine]
    before: str
    after: str
    lately: Sequence[AlertLine]
    given_up: int

    @property
    def counts(self) -> dict[str, int]:
        """How many of each word."""
        words = [each.word for each in self.standings]
        return {word: words.count(word) for word in ("firing", "acknowledged", "silenced")}


def standing_alerts(user: AnyUser) -> list[Standing]:
    """The open alerts in the order of ``open_alerts``, those that are silenced last; two queries."""
    found = with_silences(list(open_alerts(alerts_visible_to(user))[:MOST_OPEN]))
    return sorted(found, key=lambda each: each.word == "silenced")


def alerts_page(user: AnyUser, params: Mapping[str, str]) -> AlertsPage:
    """The open alerts, a page of them, and the newest of those that are over."""
    standings, now = standing_alerts(user), timezone.now()
    shown, before, after = _page(standings, params)
    over = alerts_visible_to(user).filter(resolved_at__isnull=False).order_by("-resolved_at", "-pk")
    lately = [line_of(Standing(alert, None), now) for alert in over[:LATELY]]
    return AlertsPage(standings, [line_of(each, now) for each in shown], before, after, lately, given_up_today())


def over_page(user: AnyUser, params: Mapping[str, str]) -> tuple[list[AlertLine], Slice[Alert]]:
    """All that are over, the newest first."""
    rows = alerts_visible_to(user).filter(resolved_at__isnull=False)
    found = slice_by_instant([rows], "resolved_at", params, {"state": "resolved"}, newest=True)
    now = timezone.now()
    return [line_of(Standing(alert, None), now) for alert in found.rows], found


def line_of(standing: Standing, now: datetime) -> AlertLine:
    """A row."""
    alert = standing.alert
    return AlertLine(
        alert=alert,
        word=standing.word,
        look=alert_words.look_of(alert),
        state=alert_words.STATES[standing.word],
        whose=alert_words.whose(alert),
        lasts=alert_words.how_long(alert, now),
        silence=standing.silence,
    )


def alerts_of_cause(user: AnyUser, group_id: int) -> list[AlertLine]:
    """The open alerts about a cause, in the order of ``open_alerts``; two queries, one without any."""
    keys = [f"{signal}:group={group_id}" for signal in OF_CAUSES]
    found = list(open_alerts(alerts_visible_to(user).filter(key__in=keys)))
    now = timezone.now()
    return [line_of(each, now) for each in with_silences(found)] if found else []


def given_up_today() -> int:
    """Messages of the last 24 hours that reached nobody; tests of a channel are not counted."""
    return Delivery.objects.filter(
        state=Delivery.State.GIVEN_UP, created_at__gte=timezone.now() - DAY, alert__isnull=False
    ).count()


@dataclass(frozen=True, slots=True)
class Firing:
    """What the overview says of alerts. ``lines``: the first of them; ``more``: others that did not fit."""

    title: str = ""
    lines: Sequence[AlertLine] = ()
    more: int = 0


def firing(user: AnyUser) -> Firing:
    """The alerts that people are told of, for the overview; nothing for a tenant's people."""
    loud = [each for each in standing_alerts(user) if each.word != "silenced"]
    now = timezone.now()
    lines = [line_of(each, now) for each in loud[:IN_OVERVIEW]]
    return Firing(alert_words.firing_title(loud), lines, len(loud) - len(lines))


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of an alert's history."""

    at: datetime
    icon: str
    text: str
    who: str = ""


@dataclass(frozen=True, slots=True)
class AlertPage:
    """One alert with all that is known of it."""

    line: AlertLine
    signal: Signal | None
    about: Sequence[tuple[str, str]]
    happened: Sequence[Happening]
    deliveries: Sequence[Delivery]

    @property
    def value(self) -> str:
        """What was last read, in words."""
        return alert_words.value_words(self.signal, self.line.alert.value)

    @property
    def cause(self) -> int | None:
        """The number of the cause that it is about."""
        number = self.line.alert.scope.get("group")
        return number if isinstance(number, int) and 0 < number <= MAX_ID else None

    @property
    def threshold(self) -> str:
        """What it is compared with, in words."""
        return alert_words.threshold_words(self.signal, self.line.alert.threshold)


def alert_page(user: AnyUser, alert_id: int) -> AlertPage:
    """The alert. Raises ``Http404``."""
    alert = get_alert(user, alert_id)
    line = line_of(with_silences([alert])[0], timezone.now())
    sent = _told_of(alert)
    about, happened = alert_words.about_words(alert.scope), _happened(alert, sent)
    return AlertPage(line, SIGNALS.get(alert.signal), about, happened, sent)


def _told_of(alert: Alert) -> list[Delivery]:
    """The messages about it, the newest first: its own, and those about another one of its signal that named it too.
    Two queries."""
    own = alert.deliveries.select_related("channel__team").order_by("-pk")[:MOST_HAPPENED]
    # What tells of several is written while all of them are open.
    during = {"created_at__gte": alert.since, "created_at__lte": (alert.resolved_at or timezone.now()) + WRITTEN_WITHIN}
    several = Delivery.objects.filter(alert__signal=alert.signal, message__also_count__gt=0, **during)
    rows = several.exclude(alert=alert).select_related("channel__team", "alert").order_by("-pk")[:MOST_LOOKED_AT]
    return sorted([*own, *(row for row in rows if _names(row, alert.pk))], key=lambda row: row.pk, reverse=True)


def _names(row: Delivery, alert_id: int) -> bool:
    also = row.message.get("also_alerts") or [each.get("alert") for each in row.message.get("also", ())]
    return alert_id in also


def _escalated_to(alert: Alert, sent: Sequence[Delivery]) -> str:
    """``It was escalated to operations``: the teams whose channels were told of it."""
    channels = [each.channel for each in sent if each.event == ESCALATED]
    teams = sorted({channel.team.name for channel in channels if channel.team is not None})
    return f"It was escalated{f' to {listed(teams)}' if teams else ''}: nobody had acknowledged it"


def _happened(alert: Alert, sent: Sequence[Delivery]) -> list[Happening]:
    """The newest first: what the alert itself tells, and what people did about it."""
    told = alert_words.told_whom(alert.owner, [each.channel for each in sent if each.event == FIRED])
    own = [
        (alert.resolved_at, "circle-check", "It was over by itself", ""),
        (alert.calm_since if alert.resolved_at is None else None, "clock", "Calm since then, not yet for good", ""),
        (alert.escalated_at, "arrow-up", _escalated_to(alert, sent), ""),
        (alert.told_at, "bell", told, ""),
        (alert.since, "alert-triangle", "It began", ""),
    ]
    found = [Happening(at, icon, text, who) for at, icon, text, who in own if at is not None]
    did = AuditEntry.objects.filter(target_kind="alert", target_id=str(alert.pk))[:MOST_HAPPENED]
    found += [Happening(each.at, "check", "acknowledged it", each.actor) for each in did]
    return sorted(found, key=lambda each: each.at, reverse=True)


def silences_page(params: Mapping[str, str]) -> tuple[list[Silence], Slice[Silence]]:
    """The silences in force, and those that are over, the newest end first."""
    now = timezone.now()
    standing = list(Silence.objects.filter(ends_at__gt=now).order_by("ends_at", "pk")[:MOST_OPEN])
    over: QuerySet[Silence] = Silence.objects.filter(ends_at__lte=now)
    return standing, slice_by_instant([over], "ends_at", params, {}, newest=True)


def proposed(user: AnyUser, params: Mapping[str, str]) -> dict[str, Any]:
    """What the form of a new silence begins with: what fits the alert that ``alert`` names, and no other."""
    alert_id = id_cursor(params, "alert")
    alert = alerts_visible_to(user).filter(pk=alert_id).first() if alert_id else None
    if alert is None:
        return {}
    scope = alert.scope
    parts = {name: scope.get(name) or "" for name in ("tenant", "lane", "job_type", "group")}
    return {"signal": alert.signal, **parts, "alert": alert}


def _page(standings: Sequence[Standing], params: Mapping[str, str]) -> tuple[Sequence[Standing], str, str]:
    """By cursor within the order in which they are read: it stays at its row while others come and go."""
    ids = [each.alert.pk for each in standings]
    after, before = id_cursor(params, "after"), id_cursor(params, "before")
    start = ids.index(after) + 1 if after in ids else max(0, ids.index(before) - SIZE) if before in ids else 0
    shown = standings[start : start + SIZE]
    has_more = start + SIZE < len(standings)
    first, last = (shown[0].alert.pk, shown[-1].alert.pk) if shown else (0, 0)
    return shown, f"?before={first}" if start else "", f"?after={last}" if has_more else ""
