"""``manage.py dlq clock``: stop the drain clocks of letters or of a cause for a time, and let them go on."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandParser

from dlq.access import MAX_ID
from dlq.clock.pausing import group_clock_pause, group_clock_resume, letter_clock_pause, letter_clock_resume
from dlq.errors import InvalidAction, LetterError
from dlq.export import instant
from dlq.models import DeadLetter, DeadLetterGroup
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, whole
from jobops.management.dlq_filters import letter_named
from jobops.management.option_types import WHEN, moment

COLUMNS = ("kind", "id", "due_at", "paused_until")
OPTIONS = ("reason", "until")
"""Fields that are options: what is wrong with them is wrong usage; all else is how a clock stands."""

PAUSES = (
    "Stop drain clocks until a time, with a reason. Of a cause, a letter that is paused by itself for longer keeps its "
    "pause; a shorter one becomes part of the cause's pause, and ends with it."
)


def add_clock(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser("clock", help="stop the drain clocks of letters or of a cause, or let them go on")
    doings = parser.add_subparsers(dest="doing", required=True, metavar="pause|resume")
    pause = doings.add_parser("pause", help="stop them until a time, with a reason", description=PAUSES)
    pause.add_argument("--reason", required=True, metavar="TEXT", help="why, for those who wait")
    pause.add_argument("--until", required=True, type=moment, metavar="TIME", help=WHEN)
    resume = doings.add_parser("resume", help="let them go on now")
    for each in (pause, resume):
        each.add_argument("ids", nargs="*", metavar="NUMBER|JOB", help="these letters")
        each.add_argument(
            "--group", type=whole(1, MAX_ID), metavar="NUMBER", help="all undrained letters of this cause"
        )
        add_common(each)


def run_clock(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Pause or resume, and print how the clocks stand."""
    if bool(options["ids"]) == (options["group"] is not None):
        raise Usage("dlq clock: give either letters by name, or --group with the number of a cause")
    try:
        rows = list(_group(options) if options["group"] is not None else _letters(options))
    except InvalidAction as error:
        if error.field in OPTIONS:
            raise Usage(f"--{error.field}: {error.problem}") from error
        raise Refused(error.problem) from error
    except LetterError as error:
        raise Refused(str(error)) from error
    if options["as_json"]:
        command.print_json(rows)
    else:
        command.print_table(COLUMNS, rows, "nothing")


def _letters(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    # All names are read before the first letter is changed.
    for letter_id in sorted({letter_named(each).pk for each in options["ids"]}):
        yield _row("letter", _letter(letter_id, options))


def _letter(letter_id: int, options: dict[str, Any]) -> DeadLetter:
    if options["doing"] == "resume":
        try:
            return letter_clock_resume(letter_id=letter_id, by=command_actor())
        except InvalidAction as error:
            raise Refused(f"dead letter {letter_id}: {error.problem}") from error
    return letter_clock_pause(letter_id=letter_id, by=command_actor(), reason=options["reason"], until=options["until"])


def _group(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    group_id = options["group"]
    try:
        if options["doing"] == "resume":
            group = group_clock_resume(group_id=group_id, by=command_actor())
        else:
            group = group_clock_pause(
                group_id=group_id, by=command_actor(), reason=options["reason"], until=options["until"]
            )
    except DeadLetterGroup.DoesNotExist as error:
        raise Refused(f"--group: there is no cause {group_id}; see `manage.py dlq groups`") from error
    except InvalidAction as error:
        if error.field == "clock":
            raise Refused(f"cause {group_id}: {error.problem}") from error
        raise
    yield _row("cause", group)


def _row(kind: str, it: DeadLetter | DeadLetterGroup) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": it.pk,
        "due_at": instant(it.due_at),
        "paused_until": instant(it.clock_paused_until),
    }
