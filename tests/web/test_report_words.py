"""The words of the drain clock and of its report."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from dlq.clock.forecast import Forecast
from dlq.clock.period import Period, last
from dlq.clock.report import Figures, Report
from dlq.clock.standing import Kind, Standing
from jobops.web.clock_words import due_words, forecast_words, pause_words, rate_words, standing_line
from jobops.web.report_words import breach_words, percent_words, period_words, report_title

NOW = datetime(2026, 3, 12, 3, 14, tzinfo=UTC)
ON_TRACK, WARNING = Standing(Kind.ON_TRACK, 0.2, False), Standing(Kind.WARNING, 0.8, False)
BREACHED, PAUSED = Standing(Kind.BREACHED, 1.2, True), Standing(Kind.PAUSED, 0.2, False)
DRAINED = Standing(Kind.DRAINED, 0.2, False)
SLOW, FAST = Forecast(2400.0, None, False), Forecast(None, 1200.0, False)
STILL = Forecast(2400.0, None, False, still_s=18 * 60.0)
NOTHING, USUAL = Forecast(9000.0, None, True), Forecast(9000.0, None, True, 6, True)


@pytest.mark.parametrize(
    ("stands", "forecast", "line"),
    [
        (WARNING, SLOW, "Warning. Breaches in 40 min at this rate"),
        (WARNING, Forecast(2400.0, None, True), "Warning. Breaches in 40 min at this rate"),
        (ON_TRACK, SLOW, "On track. Breaches in 40 min at this rate"),
        (ON_TRACK, FAST, "On track. Drained in 20 min at this rate"),
        (ON_TRACK, Forecast(None, 2.0, False), "On track. Drained in 1 min at this rate"),
        (ON_TRACK, NOTHING, "On track. Nothing drained yet"),
        (ON_TRACK, STILL, "On track. Nothing drained for 18 min"),
        (WARNING, STILL, "Warning. Breaches in 40 min at this rate"),
        (ON_TRACK, USUAL, "On track. 6 a week, as usual"),
        (ON_TRACK, Forecast(None, None, False), "On track. Not drained at this rate"),
        (BREACHED, SLOW, "Breached. 212 overdue, 14 more in 10 min"),
        (PAUSED, NOTHING, "Clock paused"),
        (DRAINED, None, "Drained"),
        (None, None, ""),
    ],
)
def test_a_standing_and_what_comes_of_it_is_one_line(
    stands: Standing | None, forecast: Forecast | None, line: str
) -> None:
    assert standing_line(stands, forecast, overdue=212, soon=14).replace("\u00a0", " ") == line


def test_what_has_breached_says_how_many_are_late_and_without_numbers_when_it_ends() -> None:
    assert forecast_words(BREACHED, FAST, overdue=3, soon=0) == "3 overdue"
    assert forecast_words(BREACHED, Forecast(0.0, 1200.0, False)) == "Drained in 20\u00a0min at this rate"


def test_a_clock_says_when_it_is_due_or_that_it_stands_still() -> None:
    due = NOW + timedelta(minutes=40)
    assert due_words(WARNING, due, NOW) == "Due in 40\u00a0min"
    assert due_words(BREACHED, NOW - timedelta(minutes=33), NOW) == "33\u00a0min late"
    assert (due_words(PAUSED, due, NOW), due_words(DRAINED, due, NOW)) == ("Clock paused", "Drained")
    monday = datetime(2026, 3, 16, 9, tzinfo=UTC)
    assert pause_words(monday, "provider form sent", NOW) == "until Mon 09:00, provider form sent"
    assert (pause_words(NOW, "over", NOW), pause_words(None, "", NOW)) == ("", "")


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (None, "–"),
        (0.0, "0"),
        (1.0, "100"),
        (0.9999, "99.9"),
        (0.0001, "0.1"),
        (0.5, "50"),
        (0.972, "97.2"),
        (180 / 185, "97.3"),
        (0.0449, "4.5"),
        (0.99951, "99.9"),
    ],
)
def test_a_share_is_100_only_if_it_is_all_and_0_only_if_it_is_none(share: float | None, words: str) -> None:
    assert percent_words(share) == words


def report_of(**teams: Figures) -> Report:
    total = Figures()
    for figures in teams.values():
        total.add(figures)
    return Report(last("7d", NOW), teams, total)


def test_titles() -> None:
    late = Figures(replayed=9, drained_late=1, left_late=1)
    assert report_title(report_of(a=Figures(replayed=1))) == (
        "The one dead letter drained in the last 7 days was on time."
    )
    assert report_title(report_of(a=Figures(open=3))).endswith("and nothing was late. Three wait.")
    assert report_title(report_of(a=late, b=late)) == (
        "80% of dead letters were drained on time in the last 7 days. a and b have the most breaches: 2 each."
    )
    assert report_title(report_of(a=late), "a") == "80% of dead letters of a were drained on time in the last 7 days."
    assert breach_words(late) == "1 drained late, 1 not drained"


def test_a_time_of_ones_own_is_named_by_its_days() -> None:
    def named(first: date, final: date) -> str:
        return period_words(Period("custom", NOW, NOW, first, final))

    assert named(date(2026, 3, 1), date(2026, 3, 12)) == "1 Mar to 12 Mar 2026"
    assert named(date(2025, 12, 1), date(2026, 3, 12)) == "1 Dec 2025 to 12 Mar 2026"
    assert named(date(2026, 3, 1), date(2026, 3, 1)) == "1 Mar 2026"


def test_a_team_is_told_what_comes_at_this_rate() -> None:
    assert rate_words(Forecast(2400.0, None, False)) == "breaches in 40\u00a0min"
    assert rate_words(Forecast(None, 7200.0, False)) == "drained in 2\u00a0h"
    assert rate_words(Forecast(0.0, 5.0, False)) == "drained in 1\u00a0min", (
        "what is late already is drained all the same"
    )
    assert rate_words(Forecast(2400.0, None, True)) == "nothing drained in an hour"
    assert rate_words(Forecast(0.0, None, False)) == "not drained"
