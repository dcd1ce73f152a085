"""The drain report in words. Pure."""

from __future__ import annotations

import math

from dlq.clock.period import PERIODS, Period
from dlq.clock.report import Figures, Report
from jobops.web.formats import listed, number, plural, spelled

PERIOD_WORDS = {"7d": "7 days", "30d": "30 days", "90d": "90 days"}


def period_words(period: Period) -> str:
    """The time, to follow "in": ``the last 7 days``, ``1 March to 12 March 2026``."""
    if period.key in PERIODS:
        return f"the last {PERIOD_WORDS[period.key]}"
    first, last = period.first, period.last
    if first is None or last is None:
        return "that time"
    if first == last:
        return f"{last.day} {last:%b %Y}"
    year = "" if first.year == last.year else f" {first:%Y}"
    return f"{first.day} {first:%b}{year} to {last.day} {last:%b %Y}"


def report_title(report: Report, team: str = "") -> str:
    """The report in one sentence or two: how much was drained in time, and who to ask."""
    total, when = report.total, period_words(report.period)
    whose = f" of {team}" if team else ""
    if not total.drained and not total.left_late:
        waits = f" {spelled(total.open)} {'waits' if total.open == 1 else 'wait'}." if total.open else ""
        return f"{f'{team} drained nothing' if team else 'Nothing was drained'} in {when}, and nothing was late.{waits}"
    if not total.breaches:
        one = total.drained == 1
        what = "The one dead letter" if one else f"All {plural(total.drained, 'dead letter')}"
        return f"{what}{whose} drained in {when} {'was' if one else 'were'} on time."
    return f"{share_words(total.kept)} of dead letters{whose} were drained on time in {when}.{_worst(report, team)}"


def share_words(share: float | None) -> str:
    """A share as a number of per cent that never rounds a breach away: ``99.9%``, not ``100%``."""
    return "–" if share is None else f"{percent_words(share)}%"


def percent_words(share: float | None) -> str:
    """The same without its unit, for a column whose head has it."""
    if share is None:
        return "–"
    tenths = math.floor(share * 1000 + 0.5)
    # Only all of it is 100, and only none of it is 0.
    tenths = min(tenths, 999) if share < 1 else tenths
    tenths = max(tenths, 1) if share > 0 else tenths
    return f"{tenths / 10:.1f}".removesuffix(".0")


def drained_words(figures: Figures) -> str:
    """``1,120 by a replay, 84 discarded``, and those between that a contract ended."""
    over = f", {number(figures.by_contract)} ended by contract" if figures.by_contract else ""
    return f"{number(figures.succeeded)} by a replay{over}, {number(figures.discarded)} discarded"


def breach_words(figures: Figures) -> str:
    """``12 drained late, 3 still late``; empty without any."""
    parts = []
    if figures.drained_late:
        parts.append(f"{number(figures.drained_late)} drained late")
    if figures.left_late:
        parts.append(f"{number(figures.left_late)} not drained")
    return ", ".join(parts)


def _worst(report: Report, team: str) -> str:
    if team or len(report.teams) < 2:
        return ""
    most = max(figures.breaches for figures in report.teams.values())
    worst = [name for name, figures in report.teams.items() if figures.breaches == most]
    if len(worst) > 3:
        return ""
    verb = "has" if len(worst) == 1 else "have"
    return f" {listed(worst)} {verb} the most breaches: {number(most)}{' each' if len(worst) > 1 else ''}."
