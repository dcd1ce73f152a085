"""What becomes of a group or a team at the rate of the last minutes: when it is drained, or when its first letter
breaches. Facts without words, from the counts that are kept for every five minutes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Aggregate, F, Max, Min, Q, QuerySet, Sum

from dlq.models import DeadLetterGroup, GroupSpan

SPAN = timedelta(minutes=5)
WINDOWS = (timedelta(minutes=15), timedelta(minutes=60))
"""Rates are those of the first window; of the second if nothing was drained in the first."""
SHORT = 120.0
"""Seconds in which what is drained fast may rest: five minutes that have just begun say nothing."""
DAY, WEEK = timedelta(days=1), timedelta(days=7)
USUAL = 2.0
"""A day is as usual up to so many times the week's average."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """At the rate of the last minutes: ``breaches_in`` seconds its first letter breaches (0: it has; None: it is
    drained before, or there is none), ``drained_in`` seconds all is drained (None: not at this rate).

    ``nothing_drained``: there is something to drain, and nothing was in the last hour. ``still_s``: something was, and
    nothing for these seconds, in which at that rate something would have been: who drained has stopped.
    ``as_usual``: it dies for longer than a week, and the last day was no worse than that; ``died_week``: deaths of
    these seven days, where that can be said.
    """

    breaches_in: float | None
    drained_in: float | None
    nothing_drained: bool
    died_week: int = 0
    as_usual: bool = False
    still_s: float | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """What died and what was drained in a time, in seconds. ``deaths``: 0 of what does not die any more. ``still``:
    seconds since the newest five minutes in which anything was drained."""

    deaths: int
    drained: int
    seconds: float
    still: float = 0.0


def forecast(undrained: int, due_at: datetime | None, flows: Iterable[Flow], now: datetime) -> Forecast:
    """The forecast from the numbers. ``flows``: of the shortest time to the longest; the first one in which anything
    was drained sets the rate. The first to come is taken to be the first that is due."""
    if undrained <= 0 or due_at is None:
        return Forecast(None, None, False)
    left = max(0.0, (due_at - now).total_seconds())
    flow = next((each for each in flows if each.drained > 0 and each.seconds > 0), None)
    if flow is None:
        return Forecast(left, None, True)
    if flow.still >= SHORT and flow.still * flow.drained > flow.seconds:
        # The rate of a bulk action that is over says nothing of what comes.
        return Forecast(left, None, False, still_s=flow.still)
    drains, arrives = flow.drained / flow.seconds, flow.deaths / flow.seconds
    drained_in = undrained / (drains - arrives) if drains > arrives else None
    # What dies from now on is due later, and so it is not in the way.
    in_time = left > 0 and undrained / drains <= left
    return Forecast(None if in_time else left, drained_in, False)


def forecasts(groups: Collection[DeadLetterGroup], now: datetime, *, with_week: bool = True) -> dict[int, Forecast]:
    """Group id → forecast, in two queries (one ``with_week=False``, for very many groups)."""
    ids = [group.pk for group in groups]
    flows = _flows(GroupSpan.objects.filter(group__in=ids), "group", now)
    found = {group.pk: forecast(group.undrained, group.due_at, flows.get(group.pk, ()), now) for group in groups}
    # Of others nobody says that they die as usual; and a week of a busy cause is two thousand spans.
    telling = [group.pk for group in groups if with_week and _may_be_usual(group, found[group.pk], now)]
    for pk, (week, day) in _weeks(telling, now).items():
        usual = week > 0 and day <= max(1.0, USUAL * week / WEEK.days)
        found[pk] = replace(found[pk], died_week=week, as_usual=usual)
    return found


def _may_be_usual(group: DeadLetterGroup, rate: Forecast, now: datetime) -> bool:
    waits = group.undrained > 0 and group.due_at is not None and group.due_at > now
    return waits and rate.drained_in is None and group.first_seen_at <= now - WEEK


def team_forecasts(now: datetime, owners: Collection[str] | None = None) -> dict[str, Forecast]:
    """Owner → forecast over all its groups; of those that have something to drain. Two queries."""
    groups = DeadLetterGroup.objects.filter(Q(open__gt=0) | Q(replaying__gt=0))
    spans = GroupSpan.objects.all()
    if owners is not None:
        groups, spans = groups.filter(owner__in=owners), spans.filter(group__owner__in=owners)
    flows = _flows(spans, "group__owner", now)
    sums = groups.order_by().values_list("owner").annotate(left=Sum(F("open") + F("replaying")), due=Min("due_at"))
    return {owner: forecast(left, due, flows.get(owner, ()), now) for owner, left, due in sums}


def span_of(at: datetime) -> datetime:
    """When the span of this instant begins."""
    return at - timedelta(minutes=at.minute % 5, seconds=at.second, microseconds=at.microsecond)


def _flows(spans: QuerySet[GroupSpan], by: str, now: datetime) -> Mapping[object, list[Flow]]:
    """What flowed in each window, by group or owner. A window begins with a span: it is that much longer.

    Where nothing died in the newest spans, five to ten minutes, nothing is taken to arrive: its cause is mended, and
    what died before says nothing of what comes.
    """
    begins = [span_of(now - window) for window in WINDOWS]
    sums: dict[str, Aggregate] = {
        f"{name}_{index}": Sum(name, filter=Q(at__gte=begin), default=0)
        for index, begin in enumerate(begins)
        for name in ("deaths", "drained")
    }
    sums["dying"] = Sum("deaths", filter=Q(at__gte=span_of(now - SPAN)), default=0)
    sums["last"] = Max("at", filter=Q(drained__gt=0))
    rows = spans.filter(at__gte=min(begins)).order_by().values(by).annotate(**sums)
    return {
        row[by]: [
            Flow(
                row[f"deaths_{index}"] if row["dying"] else 0,
                row[f"drained_{index}"],
                (now - begin).total_seconds(),
                max(0.0, (now - row["last"] - SPAN).total_seconds()) if row["last"] is not None else 0.0,
            )
            for index, begin in enumerate(begins)
        ]
        for row in rows
    }


def _weeks(ids: Collection[int], now: datetime) -> dict[int, tuple[int, int]]:
    """Group id → deaths of the last week, and of its last day."""
    rows = (
        GroupSpan.objects.filter(group__in=ids, at__gte=span_of(now - WEEK))
        .order_by()
        .values_list("group")
        .annotate(week=Sum("deaths"), day=Sum("deaths", filter=Q(at__gte=span_of(now - DAY)), default=0))
    )
    return {group_id: (week, day) for group_id, week, day in rows}
