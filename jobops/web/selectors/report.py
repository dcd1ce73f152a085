"""The drain report as its page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from dlq.clock.breaches import Breached, breached_causes
from dlq.clock.period import PERIODS, Period, parse
from dlq.clock.report import Figures, Report, report
from dlq.drained_in import drained_during
from dlq.retention import kept_since
from jobops.web.charts import Bar, bar
from jobops.web.clock_words import rate_words
from jobops.web.remembered import Remembered
from jobops.web.report_words import PERIOD_WORDS, breach_words, drained_words, percent_words, period_words, share_words

TEAM_LENGTH = 100

_kept: Remembered[tuple[Report, list[Breached], datetime]] = Remembered(quick_s=0.2, most_s=60.0, size=50)
"""Reports of hundreds of thousands of letters, which take a second to read."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A link of the period switch."""

    label: str
    query: str
    current: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A team's figures, or those of all, how they read, and where its letters are."""

    name: str
    figures: Figures
    kept: str
    kept_bar: Bar | None
    drained: str
    breaches: str
    replays: str
    reopened: str
    rate: str
    query: str
    drained_url: str
    open_url: str
    overdue_url: str


@dataclass(frozen=True, slots=True)
class ReportPage:
    """All that the page shows. ``faults``: what of the address was passed over, and what would be right.
    ``kept_days``: how long drained letters are kept, if that is less than the report looks back. ``read_at``: a minute
    ago at most."""

    report: Report
    team: str
    total: Row
    rows: Sequence[Row]
    causes: Sequence[Breached]
    choices: Sequence[Choice]
    faults: Mapping[str, str]
    when: str
    first: date
    last: date
    query: str
    all_teams: str
    kept_days: int | None
    read_at: datetime


def asked(params: Mapping[str, str], now: datetime) -> tuple[Period, str, dict[str, str]]:
    """The period and the team that an address asks for, and what of it was passed over."""
    period, faults = parse(params, now)
    team = str(params.get("team") or "").strip()
    if len(team) > TEAM_LENGTH or not team.isprintable():
        team, faults["team"] = "", f"a team has a name of {TEAM_LENGTH} characters at most that can be seen"
    return period, team, faults


def report_page(params: Mapping[str, str], now: datetime) -> ReportPage:
    """The page that the address asks for, in a constant number of queries."""
    period, team, faults = asked(params, now)
    key = (period.key, period.first, period.last, team)
    found, causes, read_at = _kept.get(key, lambda: _read(period, now, team))
    period = found.period
    return ReportPage(
        found,
        team,
        _row(team, found.total, period),
        [_row(name, figures, period) for name, figures in sorted(found.teams.items(), key=_worst_first)],
        causes,
        [Choice(PERIOD_WORDS[key], _query({"period": key}, team), period.key == key) for key in PERIODS],
        faults,
        period_words(period),
        timezone.localdate(period.since),
        timezone.localdate(period.until - timedelta(microseconds=1)),
        _query(period.as_params(), team),
        _query(period.as_params(), ""),
        settings.JOBOPS_RETENTION_DAYS if period.since < kept_since(now) else None,
        read_at,
    )


def _read(period: Period, now: datetime, team: str) -> tuple[Report, list[Breached], datetime]:
    found = report(period, now, team)
    return found, breached_causes(period, now, team) if found.total.breaches else [], now


def _worst_first(team: tuple[str, Figures]) -> tuple[int, int, str]:
    name, figures = team
    return -figures.breaches, -figures.drained, name


def _row(name: str, figures: Figures, period: Period) -> Row:
    kept = figures.kept
    letters = {"by": "one", **({"owner": name} if name else {})}
    return Row(
        name,
        figures,
        percent_words(kept),
        bar(kept, 1.0, f"{share_words(kept)} on time", tone="mark") if kept is not None else None,
        drained_words(figures),
        breach_words(figures),
        percent_words(figures.replay_success),
        percent_words(figures.reopen_rate),
        rate_words(figures.forecast) if figures.forecast else "",
        _query(period.as_params(), name),
        f"{reverse('dlq')}?{urlencode(letters | {'status': 'all', 'drained': drained_during(period)})}",
        f"{reverse('dlq')}?{urlencode(letters)}",
        f"{reverse('dlq')}?{urlencode(letters | {'overdue': '1'})}",
    )


def _query(params: Mapping[str, str], team: str) -> str:
    """A query string with its question mark; the address alone where it would be empty."""
    whole = {**params, "team": team} if team else params
    return f"?{urlencode(whole)}" if whole else "?"
