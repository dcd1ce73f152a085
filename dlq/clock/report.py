"""How the teams keep their drain SLAs over a time: what they drained, how fast, what breached, what came back.

All of it in a constant number of queries; percentiles are exact, from how often each drain time occurred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from dlq.clock.forecast import Forecast, team_forecasts
from dlq.clock.percentiles import percentile
from dlq.clock.period import Period
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup, ReplayRun, State

CHUNK = 10_000
FAILED = (ReplayRun.State.DIED, ReplayRun.State.LOST)
"""Ends of replays that ran in vain. One that was cancelled, refused or coalesced says nothing about its cause."""

_IN_A_PAUSE = Q(clock_paused_until__gt=F("drained_at"))
BREACHED = Q(drained_at__gt=F("due_at")) | (_IN_A_PAUSE & Q(clock_paused_until__gt=F("due_at")))
"""Of a drained letter: that its due time had passed. Drained in a pause, its clock shows what it did at the pause's
end, with which ``due_at`` counts."""


@dataclass(slots=True)
class Figures:
    """What one team did in the time, or all of them.

    ``replayed`` and ``discarded``: letters drained in it, ``drained_late`` of them after their due time; of
    ``by_contract`` of those replayed their contract said that nothing is left to do. ``left_late``:
    letters that were late at its end, and not drained. ``open`` and ``overdue``: now. ``replays_failed``: replays
    that ran in it and drained nothing. ``causes_closed``: causes of which the last letter was drained in it,
    ``causes_reopened`` of them died again. ``times``: seconds on the clock when drained → how often. ``forecast``: of
    one team that has causes to drain now.
    """

    replayed: int = 0
    by_contract: int = 0
    discarded: int = 0
    drained_late: int = 0
    left_late: int = 0
    open: int = 0
    overdue: int = 0
    replays_failed: int = 0
    causes_closed: int = 0
    causes_reopened: int = 0
    times: Counter[int] = field(default_factory=Counter)
    forecast: Forecast | None = None
    _percentiles: dict[float, float | None] = field(default_factory=dict, repr=False, compare=False)

    @property
    def drained(self) -> int:
        return self.replayed + self.discarded

    @property
    def breaches(self) -> int:
        """Letters that were drained late, or are late and not drained."""
        return self.drained_late + self.left_late

    @property
    def kept(self) -> float | None:
        """The share of letters that did not breach, of all that were drained or are late; None without any."""
        return _share(self.drained - self.drained_late, self.drained + self.left_late)

    @property
    def median_s(self) -> float | None:
        """Half were drained within so many seconds of their clocks; None without any."""
        return self._percentile(0.5)

    @property
    def p95_s(self) -> float | None:
        """95 of 100 were drained within so many seconds of their clocks."""
        return self._percentile(0.95)

    @property
    def succeeded(self) -> int:
        """Letters that a replay drained which did its work."""
        return self.replayed - self.by_contract

    @property
    def replay_success(self) -> float | None:
        """The share of replays that did their work, of those that did or ran in vain."""
        return _share(self.succeeded, self.succeeded + self.replays_failed)

    @property
    def reopen_rate(self) -> float | None:
        """The share of drained causes that died again."""
        return _share(self.causes_reopened, self.causes_closed)

    def add(self, other: Figures) -> None:
        """Add another team's, to sum up."""
        for name in NUMBERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.times.update(other.times)
        self._percentiles.clear()

    def _percentile(self, share: float) -> float | None:
        # Of very many times it takes long; a page asks more than once.
        if share not in self._percentiles:
            self._percentiles[share] = percentile(self.times, share)
        return self._percentiles[share]


NUMBERS = (
    "replayed", "by_contract", "discarded", "drained_late", "left_late", "open", "overdue", "replays_failed",
    "causes_closed", "causes_reopened",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """``teams``: by name, those with anything to tell and the one that was asked for. ``total``: of all of them."""

    period: Period
    teams: dict[str, Figures]
    total: Figures


def report(period: Period, now: datetime, team: str = "") -> Report:
    """The report of the period; of one ``team`` alone, if it is given. Nine queries at most, however many letters."""
    teams: dict[str, Figures] = {}

    def of(owner: str) -> Figures:
        return teams.setdefault(owner, Figures())

    if team:
        of(team)
    own = Q(owner=team) if team else Q()
    letters = DeadLetter.objects.filter(own).order_by()
    _drained(letters, period, of)
    _open(letters, now, of)
    _left_late(letters, period, now, teams, of)
    _runs(period, team, of)
    _causes(DeadLetterGroup.objects.filter(own).order_by(), period, of)
    for owner, rate in team_forecasts(now, [team] if team else None).items():
        # A team that has a cause and none of its letters, which others took, has nothing to drain.
        if owner in teams and teams[owner].open:
            teams[owner].forecast = rate
    total = Figures()
    for figures in teams.values():
        total.add(figures)
    return Report(period, dict(sorted(teams.items())), total)


Of = Callable[[str], Figures]


def _drained(letters: QuerySet[DeadLetter], period: Period, of: Of) -> None:
    drained = letters.filter(drained_at__gte=period.since, drained_at__lt=period.until)
    counted = drained.values_list("owner", "state").annotate(Count("id"), late=Count("id", filter=BREACHED))
    for owner, state, count, late in counted:
        figures = of(owner)
        if state == State.DISCARDED:
            figures.discarded += count
        else:
            figures.replayed += count
        figures.drained_late += late
    for (owner, seconds), count in _times(drained.filter(drain_s__isnull=False)).items():
        of(owner).times[seconds] = count


def _times(drained: QuerySet[DeadLetter]) -> Counter[tuple[str, int]]:
    """How often each owner took so many seconds. Counted here: the database would sort them, which takes longer than to
    send them; and past the models, which take longer than both."""
    times: Counter[tuple[str, int]] = Counter()
    try:
        sql, params = drained.values_list("owner", "drain_s").query.sql_with_params()
    except EmptyResultSet:
        return times
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        while rows := cursor.fetchmany(CHUNK):
            times.update(rows)
    return times


def _left_late(
    letters: QuerySet[DeadLetter], period: Period, now: datetime, teams: Mapping[str, Figures], of: Of
) -> None:
    """What was late when the period ended. Of one that ends now that is what is overdue."""
    if period.until >= now:
        for figures in teams.values():
            figures.left_late = figures.overdue
        return
    late = letters.filter(state__in=UNDRAINED, due_at__lte=period.until, dead_at__lt=period.until)
    for owner, count in late.values_list("owner").annotate(Count("id")):
        of(owner).left_late += count
    since = letters.filter(drained_at__gte=period.until, due_at__lte=period.until, dead_at__lt=period.until)
    for owner, count in since.values_list("owner").annotate(Count("id")):
        of(owner).left_late += count


def _open(letters: QuerySet[DeadLetter], now: datetime, of: Of) -> None:
    undrained = letters.filter(state__in=UNDRAINED).values_list("owner")
    for owner, count, late in undrained.annotate(Count("id"), late=Count("id", filter=Q(due_at__lte=now))):
        of(owner).open, of(owner).overdue = count, late


def _runs(period: Period, team: str, of: Of) -> None:
    ended = ReplayRun.objects.filter(ended_at__gte=period.since, ended_at__lt=period.until)
    ended = ended.filter(state__in=(*FAILED, ReplayRun.State.DISCARDED)).order_by()
    if team:
        ended = ended.filter(letter__owner=team)
    failed = Count("id", filter=Q(state__in=FAILED))
    # Of the run that drained its letter, and not of one before it or after it.
    drained = Q(letter__state=State.RESOLVED, letter__drained_at=F("ended_at"))
    by_contract = Count("letter", distinct=True, filter=drained & Q(state=ReplayRun.State.DISCARDED))
    for owner, in_vain, over in ended.values_list("letter__owner").annotate(failed=failed, by_contract=by_contract):
        if in_vain or over:
            of(owner).replays_failed, of(owner).by_contract = in_vain, over


def _causes(groups: QuerySet[DeadLetterGroup], period: Period, of: Of) -> None:
    """Of a cause that was drained and woken more than once, the last time counts."""
    reopened = Q(
        reopened_at__gte=period.since, reopened_at__lt=period.until, reopened_from=DeadLetterGroup.State.DRAINED
    )
    closed = Q(state=DeadLetterGroup.State.DRAINED, state_at__gte=period.since, state_at__lt=period.until)
    counted = groups.filter(closed | reopened).values_list("owner")
    for owner, count, again in counted.annotate(Count("id"), again=Count("id", filter=reopened)):
        of(owner).causes_closed, of(owner).causes_reopened = count, again


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
