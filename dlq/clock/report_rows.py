"""The drain report as rows of text and numbers, for files and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dlq.clock.report import Figures, Report
from dlq.export import instant

TOTAL = "(all teams)"
COLUMNS = (
    "team", "since", "until", "drained", "replayed", "discarded", "breaches", "drained_late", "not_drained_late",
    "on_time", "median_s", "p95_s", "replays_failed", "replay_success", "causes_closed",
    "causes_reopened", "reopen_rate", "open_now", "overdue_now", "breaches_in_s", "drained_in_s", "ended_by_contract",
)  # fmt: skip
"""Times in seconds, shares from 0 to 1; empty where there is nothing to reckon with. ``breaches_in_s`` and
``drained_in_s``: the forecast at the rate of the last minutes, 0 for what has breached, empty for what will not.
``ended_by_contract``: of those ``replayed``, and no success."""


def report_rows(report: Report) -> Iterator[dict[str, Any]]:
    """A row for each team and, of more than one, a last one for all of them."""
    for name, figures in report.teams.items():
        yield _row(name, figures, report)
    if len(report.teams) != 1:
        yield _row(TOTAL, report.total, report)


def _row(name: str, figures: Figures, report: Report) -> dict[str, Any]:
    rate = figures.forecast
    return {
        "team": name,
        "since": instant(report.period.since),
        "until": instant(report.period.until),
        "drained": figures.drained,
        "replayed": figures.replayed,
        "discarded": figures.discarded,
        "breaches": figures.breaches,
        "drained_late": figures.drained_late,
        "not_drained_late": figures.left_late,
        "on_time": _rounded(figures.kept, 4),
        "median_s": _rounded(figures.median_s, 1),
        "p95_s": _rounded(figures.p95_s, 1),
        "replays_failed": figures.replays_failed,
        "replay_success": _rounded(figures.replay_success, 4),
        "causes_closed": figures.causes_closed,
        "causes_reopened": figures.causes_reopened,
        "reopen_rate": _rounded(figures.reopen_rate, 4),
        "open_now": figures.open,
        "overdue_now": figures.overdue,
        "breaches_in_s": _rounded(rate.breaches_in, 0) if rate else None,
        "drained_in_s": _rounded(rate.drained_in, 0) if rate else None,
        "ended_by_contract": figures.by_contract,
    }


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
