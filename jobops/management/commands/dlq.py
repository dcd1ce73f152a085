"""``manage.py dlq``: look at dead letters, replay them, discard them, take them elsewhere."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dlq.bulk import TICKED
from dlq.bulk_records import ALL
from dlq.export import FORMATS, row_of, rows
from dlq.filters import UNDRAINED_STATUS
from dlq.models import DeadLetter
from jobops.audit.recording import Change, record
from jobops.management.base import OperatorCommand, Usage, command_actor
from jobops.management.dlq_assign import add_assign, run_assign
from jobops.management.dlq_bulk import Report, perform
from jobops.management.dlq_clock import add_clock, run_clock
from jobops.management.dlq_edit import run_edit
from jobops.management.dlq_export import write_file
from jobops.management.dlq_filters import add_filters, asked, filter_of, in_order, letter_named, letters_named
from jobops.management.dlq_groups import add_groups, run_groups
from jobops.management.dlq_import import add_import, run_import
from jobops.management.dlq_purge import add_purge, run_purge
from jobops.management.dlq_reasons import add_reasons, reason_given, run_reasons
from jobops.management.dlq_replay import add_plan, plan_asked
from jobops.management.dlq_report import add_report, run_report
from jobops.management.dlq_show import details, told
from jobops.management.dlq_undo import add_undo, undo
from jobops.management.option_types import number

ACTIONS = "list|show|replay|discard|undo|reasons|purge|assign|export|report|clock|groups|import-rq"
COLUMNS = ("id", "tenant", "job", "state", "reason", "error_class", "owner", "due_at", "dead_at", "attempts", "replays")
WHY = ("why now", "why: one of `dlq reasons`, or your own words")
RUNS: dict[str, Callable[[OperatorCommand, dict[str, Any]], None]] = {
    "report": run_report,
    "assign": run_assign,
    "clock": run_clock,
    "groups": run_groups,
    "import-rq": run_import,
    "reasons": run_reasons,
    "purge": run_purge,
}
_NOT_LISTED = ("payload_raw", "traceback", "history")


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists dead letters, shows one, replays, discards or opens them again, and exports them."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(dest="action", required=True, metavar=ACTIONS)
        listing = actions.add_parser("list", help="dead letters, all unless filtered, the newest death first")
        add_filters(listing, "all")
        listing.add_argument("--due", action="store_true", help="in the order of their due times, the first one first")
        listing.add_argument("--limit", type=number, metavar="N", help="at most so many")
        one = actions.add_parser("show", help="one letter with its arguments, every attempt and every replay")
        one.add_argument("id", metavar="NUMBER|JOB", help="a letter's number, or a job's id for its newest letter")
        replay = actions.add_parser("replay", help="send open letters back to run")
        discard = actions.add_parser("discard", help="close open letters for good; `undo` opens them again")
        for each in (replay, discard):
            each.add_argument("--reason", type=_reason, metavar="TEXT", help=WHY[each is discard])
            each.add_argument("ids", nargs="*", metavar="NUMBER|JOB", help="these letters; or give filters instead")
            add_filters(each, "open")
            if each is discard:
                each.add_argument("--note", metavar="TEXT", help="what the next person should know")
            if each is replay:
                each.add_argument("--from-start", action="store_true", help="begin anew, and not at the checkpoint")
                each.add_argument("--edit", metavar="JSON", help='one letter, with these arguments: {"number": 8}')
                add_plan(each)
            each.add_argument("--all", action="store_true", help="all open letters; needed where nothing is filtered")
        for each in (replay, discard):
            each.add_argument("--dry-run", action="store_true", help="tell what would be done, and do nothing")
        for each in (listing, one, replay, discard):
            super().add_arguments(each)
        add_undo(actions, super().add_arguments)
        add_reasons(actions, super().add_arguments)
        add_purge(actions, super().add_arguments)
        add_report(actions, super().add_arguments)
        add_clock(actions, super().add_arguments)
        add_assign(actions, super().add_arguments)
        add_groups(actions, super().add_arguments)
        add_import(actions, super().add_arguments)
        export = actions.add_parser("export", help="letters with their arguments, masked: printed, or into a file")
        add_filters(export, UNDRAINED_STATUS)
        export.add_argument("--format", choices=list(FORMATS), default="jsonl", help="default: jsonl")
        export.add_argument("--output", type=Path, metavar="FILE", help="into this file, which is there whole or not")

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        action = options["action"]
        if action in RUNS:
            RUNS[action](self, options)
            return
        match action:
            case "list":
                self._list(options)
            case "show":
                self._show(options)
            case "export":
                self._export(options)
            case "undo":
                self._report(undo(options), options)
            case "replay" if options["edit"] is not None:
                run_edit(self, options)
            case kind:
                self._report(_act(kind, options), options)

    def _list(self, options: dict[str, Any]) -> None:
        wanted = filter_of(options, status="all", sort="due" if options["due"] else "newest")
        letters = in_order(wanted, DeadLetter.objects.defer(*_NOT_LISTED), options["limit"])
        shown = [row_of(letter) for letter in letters]
        if options["as_json"]:
            self.print_json(shown)
        else:
            self.print_table(COLUMNS, shown, "no dead letters")

    def _show(self, options: dict[str, Any]) -> None:
        shown = details(letter_named(options["id"]))
        if options["as_json"]:
            self.print_json(shown)
            return
        for line in told(shown):
            self.stdout.write(line)

    def _report(self, report: Report, options: dict[str, Any]) -> None:
        if options["as_json"]:
            self.print_json(report.as_json())
        else:
            self.stdout.write(report.as_text())

    def _export(self, options: dict[str, Any]) -> None:
        wanted = filter_of(options)
        what = {"filter": wanted.as_query() or ALL, "format": options["format"]}
        record(command_actor(), Change("letter.export", "export", "letters", after=what))
        # Closed here, and not when the interpreter ends: the reader may have had enough.
        with closing(rows(wanted.apply(DeadLetter.objects.all()))) as made:
            pieces = FORMATS[options["format"]](made)
            if options["output"] is not None:
                write_file(options["output"], pieces)
                self.stdout.write(f"written to {options['output']}")
                return
            for piece in pieces:
                self.stdout.write(piece, ending="")


def _act(kind: str, options: dict[str, Any]) -> Report:
    """Replay or discard what is named or filtered."""
    given, ids = asked(options), options["ids"]
    if ids and (given or options["all"]):
        raise Usage(f"dlq {kind}: give either letters by name, or filters")
    if not (ids or given or options["all"]):
        raise Usage(f"dlq {kind}: which ones? Name them, filter them, or say --all")
    if ids:
        letters, chosen = letters_named(ids), TICKED
    else:
        wanted = filter_of(options, status="open")
        letters, chosen = wanted.apply(DeadLetter.objects.all()), wanted.as_query()
    return perform(
        kind,
        letters,
        chosen=chosen,
        reason=reason_given(options) if kind == "discard" else options["reason"] or "",
        from_start=options.get("from_start", False),
        dry_run=options["dry_run"],
        plan=plan_asked(options) if kind == "replay" else None,
        wait=options.get("wait", False),
    )


def _reason(text: str) -> str:
    if not text.strip():
        raise ArgumentTypeError("say why, for those who look for these letters later")
    return text
