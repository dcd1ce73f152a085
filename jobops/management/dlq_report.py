"""``manage.py dlq report``: how the teams keep their drain SLAs."""

from __future__ import annotations

from argparse import ArgumentTypeError, _SubParsersAction
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from dlq.clock.period import LONGEST, PERIODS, Period
from dlq.clock.report import report
from dlq.clock.report_rows import COLUMNS, report_rows
from jobops.contracts import durations
from jobops.management.base import OperatorCommand
from jobops.spreadsheets import csv_lines

SHOWN = (
    "team", "drained", "on_time", "breaches", "median", "p95", "replay_success", "reopen_rate", "open_now",
    "overdue_now", "breaches_in", "drained_in",
)  # fmt: skip
SHARES = ("on_time", "replay_success", "reopen_rate")


def add_report(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser("report", help="how the teams keep their drain SLAs: drained, in time, how fast")
    parser.add_argument("--since", type=_age, default=PERIODS["30d"], metavar="AGE", help="so far back; default 30d")
    parser.add_argument("--team", default="", metavar="TEAM", help="only this team's letters")
    parser.add_argument("--csv", action="store_true", dest="as_csv", help="print CSV, with times in seconds")
    add_common(parser)


def run_report(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Print the report of the time until now."""
    now = timezone.now()
    period = Period("custom", now - options["since"], now)
    rows = list(report_rows(report(period, now, options["team"])))
    if options["as_json"]:
        command.print_json(rows)
    elif options["as_csv"]:
        for line in csv_lines(COLUMNS, rows):
            command.stdout.write(line, ending="")
    else:
        command.print_table(SHOWN, [_shown(row) for row in rows], "no dead letters")


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """The row for people: times as durations, shares as per cent."""
    shares = {name: None if row[name] is None else f"{row[name]:.1%}" for name in SHARES}
    spans = {name: _span(row[f"{name}_s"]) for name in ("median", "p95", "breaches_in", "drained_in")}
    return row | shares | spans


def _span(seconds: float | None) -> str | None:
    return None if seconds is None else durations.show(timedelta(seconds=round(seconds)))


def _age(text: str) -> timedelta:
    try:
        age = durations.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if not timedelta(0) < age <= LONGEST:
        raise ArgumentTypeError(f"{text!r} must be more than 0 and {LONGEST.days} days at most")
    return age
