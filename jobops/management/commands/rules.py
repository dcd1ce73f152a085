"""``manage.py rules``: whose a dead letter is, by when it must be drained, and how much it matters."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from dlq.models import RuleSet
from dlq.owners.checking import Checked, check_rules
from dlq.owners.parsing import LONGEST_TEXT, Fault
from dlq.owners.previewing import preview
from dlq.owners.saving import InvalidRules, Saved, rules_apply, rules_save
from dlq.owners.versions import newest_rules
from jobops.management.base import Found, OperatorCommand, Refused, command_actor, iso, take_for_granted, whole
from jobops.management.files import write_whole

STDIN = "-"
MOST_SHOWN = 20


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused, failed or something found, 2 wrong usage; one line on stderr says why."""

    help = "Shows, checks, previews, imports and exports the ownership rules."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        metavar = "show|check|preview|import|export|history|apply"
        actions = parser.add_subparsers(dest="action", metavar=metavar)
        show = actions.add_parser("show", help="the rules in force, or those of a version")
        show.add_argument("--version", type=whole(1, 2**63 - 1), metavar="N", dest="wanted")
        check = actions.add_parser("check", help="what is wrong with a file, or with the rules in force")
        look = actions.add_parser("preview", help="which letters a file would take from whom, line by line")
        take = actions.add_parser("import", help="put a file in force")
        take.add_argument("--note", default="", metavar="TEXT", help="why, for those who look at it later")
        export = actions.add_parser("export", help="the rules in force as text, printed or into a file")
        export.add_argument("--output", type=Path, metavar="FILE", help="into this file, which is there whole or not")
        history = actions.add_parser("history", help="the versions there were, the newest first")
        history.add_argument("--limit", type=whole(1, 10_000), default=MOST_SHOWN, metavar="N")
        apply = actions.add_parser("apply", help="decide all owners anew, as after contracts named other teams")
        for each in (check, look):
            each.add_argument("file", nargs="?", metavar="FILE", help="a text file, or - for what is piped in")
        take.add_argument("file", metavar="FILE", help="a text file, or - for what is piped in")
        for each in (show, check, look, take, history, apply):
            super().add_arguments(each)
        take_for_granted(parser, "show", show)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        try:
            getattr(self, f"do_{options['action']}")(options)
        except InvalidRules as error:
            *others, last = error.faults
            for fault in others:
                self.stderr.write(f"Refused: FILE: {fault}")
            raise Refused(f"FILE: {last}") from error

    def do_show(self, options: dict[str, Any]) -> None:
        wanted = options["wanted"]
        found = RuleSet.objects.filter(pk=wanted).first() if wanted is not None else newest_rules()
        if found is None and wanted is not None:
            raise Refused(f"--version: there is no version {wanted}; see `manage.py rules history`")
        if options["as_json"]:
            self.print_json(_row(found, with_text=True) if found is not None else None)
        elif found is None:
            self.stdout.write("# no rules yet: contracts say whose a dead letter is")
        else:
            self.stdout.write(f"# version {found.pk} by {found.by}, {iso(found.created_at)}\n{found.text}", ending="")

    def do_check(self, options: dict[str, Any]) -> None:
        checked = check_rules(_text(options["file"]))
        if options["as_json"]:
            self.print_json([_fault(fault) for fault in checked.faults])
        else:
            for fault in checked.faults:
                self.stdout.write(f"{'error' if fault.fatal else 'warning'}: {fault}")
            if not checked.faults:
                rules = "1 rule" if len(checked.rules) == 1 else f"{len(checked.rules)} rules"
                self.stdout.write(f"{rules}, nothing is wrong")
        if checked.errors:
            count = len({fault.line for fault in checked.errors})
            raise Found(f"{count} of its lines must be mended")

    def do_preview(self, options: dict[str, Any]) -> None:
        checked = check_rules(_text(options["file"]))
        if checked.errors:
            raise InvalidRules(checked.errors)
        document = _previewed(checked)
        if options["as_json"]:
            self.print_json(document)
            return
        rows = [
            row | {"takes": ", ".join(f"{n:,} from {who}" for who, n in row["takes"].items())}
            for row in document["lines"]
        ]
        self.print_table(("line", "condition", "team", "letters", "takes", "held"), rows, "no rules")
        self.stdout.write(f"{document['moved']:,} of {document['total']:,} undrained letters would be another team's")

    def do_import(self, options: dict[str, Any]) -> None:
        self._saved(options, rules_save(text=_text(options["file"]), by=command_actor(), note=options["note"]))

    def do_apply(self, options: dict[str, Any]) -> None:
        self._saved(options, rules_apply(by=command_actor()))

    def do_export(self, options: dict[str, Any]) -> None:
        newest = newest_rules()
        text = newest.text if newest is not None else ""
        if options["output"] is None:
            self.stdout.write(text, ending="")
            return
        write_whole(options["output"], text)
        self.stdout.write(f"written to {options['output']}")

    def do_history(self, options: dict[str, Any]) -> None:
        rows = [_row(each) for each in RuleSet.objects.order_by("-pk")[: options["limit"]]]
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(("version", "created_at", "by", "note"), rows, "no rules were ever saved")

    def _saved(self, options: dict[str, Any], saved: Saved) -> None:
        for fault in saved.checked.warnings:
            self.stderr.write(f"warning: {fault}")
        if options["as_json"]:
            shown = {"version": saved.version, "new": saved.is_new, "changed": saved.letters}
            self.print_json(shown | {"going_on": saved.going_on})
        elif not saved.is_new:
            self.stdout.write(f"version {saved.version} says the same already")
        else:
            more = "; the scheduler goes on with the others" if saved.going_on else ""
            self.stdout.write(f"version {saved.version} is in force: {saved.letters:,} letters changed{more}")


def _text(file: str | None) -> str:
    """What the file holds; of none, the rules in force. Raises ``Refused``."""
    if file is None:
        newest = newest_rules()
        return newest.text if newest is not None else ""
    try:
        if file == STDIN:
            return sys.stdin.read(LONGEST_TEXT + 1)
        with Path(file).open(encoding="utf-8") as opened:
            return opened.read(LONGEST_TEXT + 1)
    except UnicodeDecodeError as error:
        raise Refused(f"FILE: {file} is no text in UTF-8 (byte {error.start})") from error
    except (OSError, ValueError) as error:
        raise Refused(f"FILE: {file} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _previewed(checked: Checked) -> dict[str, Any]:
    found = preview(checked.rules)
    lines = [
        {
            "line": rule.line,
            "condition": rule.condition,
            "team": rule.team,
            "letters": found.lines[rule.line].letters,
            "takes": dict(found.lines[rule.line].taken),
            "held": found.lines[rule.line].held,
        }
        for rule in checked.rules
    ]
    returned = {owner: dict(then) for owner, then in found.returned.items()}
    shown = {"total": found.total, "moved": found.moved, "held": found.held, "lines": lines, "returned": returned}
    return shown | {"warnings": [_fault(fault) for fault in checked.warnings]}


def _row(version: RuleSet, *, with_text: bool = False) -> dict[str, Any]:
    row = {"version": version.pk, "created_at": iso(version.created_at), "by": version.by, "note": version.note}
    return row | {"text": version.text} if with_text else row


def _fault(fault: Fault) -> dict[str, Any]:
    return {"line": fault.line or None, "problem": fault.problem, "fatal": fault.fatal}
