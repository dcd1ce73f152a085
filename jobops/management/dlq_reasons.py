"""The reasons for a discard, as ``manage.py dlq`` takes and lists them."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser

from dlq.discard_reasons import all_reasons, reasons_offered, spelled_as_offered
from jobops.management.base import OperatorCommand, Usage

COLUMNS = ("reason", "offered")


def add_reasons(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser("reasons", help="the reasons for a discard that people choose from on the pages")
    # All that can be done with them here; who knows the other commands says it.
    parser.add_argument("doing", nargs="?", choices=["list"], default="list", metavar="list", help="the default")
    add_common(parser)


def run_reasons(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Print them in order, retired ones last."""
    rows = [{"reason": reason.text, "offered": not reason.retired} for reason in all_reasons()]
    if options["as_json"]:
        command.print_json(rows)
    else:
        command.print_table(COLUMNS, rows, "no reasons")


def reason_given(options: dict[str, Any]) -> str:
    """The reason of a discard with its note as one text. Any words will do; those of the list are spelled as there.

    Raises ``Usage`` without one.
    """
    reason, note = (options["reason"] or "").strip(), (options["note"] or "").strip()
    if not reason:
        offered = ", ".join(f"“{text}”" for text in reasons_offered())
        such = f", such as {offered}" if offered else ""
        raise Usage(f"dlq discard: --reason is missing: say why{such}, or in your own words")
    reason = spelled_as_offered(reason)
    return f"{reason}: {note}" if note else reason
