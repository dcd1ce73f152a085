"""Deadlines: the drain SLA of each cause, by its letter that is due first."""

from __future__ import annotations

from collections.abc import Iterator

from dlq.clock.forecast import WINDOWS, Forecast, forecasts
from dlq.clock.overdue import overdue
from dlq.clock.standing import WARNS_AT, Kind, group_standings
from dlq.models import DeadLetterGroup, Severity
from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.signals.causes import OF_A_CAUSE, group_counts, group_path, group_scope, group_subject
from jobops.alerts.sources import Sources
from jobops.alerts.urgency import rank
from jobops.contracts.catalog.words import plural, span

HALF = 0.5
"""Of a cause that is younger than the time that rates are taken from, and of which nothing was drained yet, nobody is
told before its first letter has used such a share of its time: until then that says nothing."""
MOST_COUNTED = 50_000
"""Letters of late causes that a round counts through to say how many of them are late."""


def breaches(sources: Sources) -> Iterator[Reading]:
    """Causes with letters past their due time. A paused clock is not late before its time has passed without it."""
    late = [group for group in _with_clock(sources) if group.due_at is not None and group.due_at <= sources.now]
    late.sort(key=lambda group: (group.due_at, group.pk))
    counts = overdue(_countable(late), sources.now)
    for group in late:
        found = counts.get(group.pk)
        if found is not None and found.late:
            many = f"{plural(found.late, 'dead letter is', 'dead letters are')} past their deadline"
            many = many.replace("1 dead letter is past their", "1 dead letter is past its")
        else:
            many = "Dead letters are past their deadline"
        yield _reading(
            group,
            value=sources.age_s(group.due_at, "a due time"),
            title=f"{many}: {_name(group)}",
            detail=group_counts(group),
            severity=max(group.severity, Severity.HIGH, key=rank),
        )


def warnings(sources: Sources) -> Iterator[Reading]:
    """Causes that are not late yet, with the share of the time that their first letter has used."""
    groups = [group for group in _with_clock(sources) if group.due_at is not None and group.due_at > sources.now]
    standings = group_standings(groups, sources.now)
    for group in groups:
        standing = standings.get(group.pk)
        if standing is not None and standing.kind is not Kind.PAUSED:
            used = min(100.0, standing.used * 100)
            title = f"The first of {plural(group.undrained, 'dead letter')} is due soon: {_name(group)}"
            yield _reading(group, value=used, title=title, detail=f"{used:.0f} % of its time is used")


def forecast_breaches(sources: Sources) -> Iterator[Reading]:
    """Causes whose first letter will breach at the rate of the last minutes, with the minutes that are left."""
    groups = [group for group in _with_clock(sources) if group.due_at is not None and group.due_at > sources.now]
    found = forecasts(groups, sources.now, with_week=False)
    young = {group.pk for group in groups if _rests(found[group.pk]) and _is_young(group, sources)}
    standings = group_standings([group for group in groups if group.pk in young], sources.now)
    for group in groups:
        forecast = found[group.pk]
        if forecast.breaches_in is None or (group.pk in young and standings[group.pk].used < HALF):
            continue
        rate = _rate(forecast, is_young=group.pk in young)
        title = f"The first of {plural(group.undrained, 'dead letter')} will breach its deadline: {_name(group)}"
        detail = f"in {span(forecast.breaches_in)}, {rate}"
        yield _reading(group, value=forecast.breaches_in / 60, title=title, detail=detail)


def _rests(forecast: Forecast) -> bool:
    """Whether there is no rate to reckon with."""
    return forecast.nothing_drained or forecast.still_s is not None


def _is_young(group: DeadLetterGroup, sources: Sources) -> bool:
    """Whether it began, or came back, within the longest time that rates are taken from."""
    return max(filter(None, (group.first_seen_at, group.reopened_at))) > sources.now - WINDOWS[-1]


def _rate(forecast: Forecast, *, is_young: bool) -> str:
    if forecast.still_s is not None:
        return f"nothing was drained for {span(forecast.still_s)}"
    if not forecast.nothing_drained:
        return "at this rate"
    return "nothing was drained yet" if is_young else "nothing was drained in the last hour"


def _with_clock(sources: Sources) -> list[DeadLetterGroup]:
    """Those whose clock runs: the due time of a paused one has been moved to beyond the pause already."""
    return [
        group
        for group in sources.groups
        if group.clock_paused_until is None
        or group.clock_paused_until <= sources.now
        or (group.due_at is not None and group.due_at <= sources.now)
    ]


def _countable(groups: list[DeadLetterGroup]) -> list[int]:
    """As many of these as may be counted through in one round."""
    left, ids = MOST_COUNTED, []
    for group in groups:
        if group.undrained <= left:
            left -= group.undrained
            ids.append(group.pk)
    return ids


def _name(group: DeadLetterGroup) -> str:
    return group.title or group.error_class or group.job_type or f"cause {group.pk}"


def _reading(group: DeadLetterGroup, *, value: float, title: str, detail: str, severity: str = "") -> Reading:
    return Reading(
        subject=group_subject(group),
        value=value,
        title=title,
        detail=detail,
        scope=group_scope(group),
        owner=group.owner,
        path=group_path(group),
        due_at=group.due_at,
        severity=severity or group.severity,
    )


SIGNALS = (
    Signal(
        name="sla_breach",
        title="Dead letters past their deadline",
        unit="seconds late",
        threshold=0,
        clears_at=0,
        for_s=0,
        calm_s=30,
        severity="high",
        about="How late the letter of a cause is that was due first, and is not drained.",
        read=breaches,
        parts=OF_A_CAUSE,
    ),
    Signal(
        name="sla_warning",
        title="Dead letters due soon",
        unit="% of the drain SLA used",
        threshold=WARNS_AT * 100,
        clears_at=WARNS_AT * 100 - 5,
        for_s=0,
        calm_s=30,
        severity="normal",
        about="How much of its time the letter of a cause has used that is due first; pauses left out.",
        read=warnings,
        overruled_by="sla_breach",
        parts=OF_A_CAUSE,
    ),
    Signal(
        name="sla_forecast",
        title="A deadline that will be missed",
        unit="minutes left",
        threshold=60,
        clears_at=90,
        for_s=120,
        calm_s=300,
        severity="normal",
        about="When the first letter of a cause breaches, if letters are drained and die as in the last minutes.",
        read=forecast_breaches,
        under=True,
        overruled_by="sla_breach",
        parts=OF_A_CAUSE,
    ),
)
