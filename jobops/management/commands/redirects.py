"""``manage.py redirects``: as which type dead letters of a renamed one are replayed."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from dlq.errors import InvalidAction
from dlq.models import Redirect
from dlq.redirects import redirect_create, redirect_delete, redirect_doubt, redirect_preview
from jobops.contracts import registry
from jobops.management.base import OperatorCommand, Refused, command_actor, iso, take_for_granted

COLUMNS = ("from", "to", "works", "by", "created_at", "note")
OPTIONS = {"from_type": "FROM", "to_type": "TO", "note": "--note", "redirect": "FROM"}
"""Where a field was typed."""


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists, adds and removes redirects: dead letters of a type that was renamed are replayed as the new one."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        actions = parser.add_subparsers(dest="action", metavar="list|add|remove")
        listing = actions.add_parser("list", help="all of them, by the old name")
        add = actions.add_parser("add", help="have dead letters of a type that is not registered replayed as another")
        add.add_argument("old", metavar="FROM", help="the name that the letters have")
        add.add_argument("new", metavar="TO", help="a registered job type")
        add.add_argument("--note", default="", metavar="TEXT", help="why, for those who look at it later")
        add.add_argument("--dry-run", action="store_true", help="tell how many letters it is for, and add nothing")
        remove = actions.add_parser("remove", help="take one back")
        remove.add_argument("old", metavar="FROM", help="the old name")
        for each in (listing, add, remove):
            super().add_arguments(each)
        take_for_granted(parser, "list", listing)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        try:
            getattr(self, f"do_{options['action']}")(options)
        except InvalidAction as error:
            raise Refused(f"{OPTIONS.get(error.field, error.field)}: {error.problem}") from error

    def do_list(self, options: dict[str, Any]) -> None:
        rows = [row_of(each) for each in Redirect.objects.order_by("from_type")]
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "no redirects: every dead letter is replayed as what it is")

    def do_add(self, options: dict[str, Any]) -> None:
        found = redirect_preview(options["old"], options["new"])
        told: dict[str, Any] = {"open": found.open, "checked": found.checked, "fit": found.fit}
        told |= {"unfit": dict(found.unfit), "dry_run": options["dry_run"]}
        if not options["dry_run"]:
            made = redirect_create(
                from_type=options["old"], to_type=options["new"], note=options["note"], by=command_actor()
            )
            told |= row_of(made)
        if doubt := redirect_doubt(options["old"]):
            self.stderr.write(f"warning: {doubt}")
        if options["as_json"]:
            self.print_json(told)
            return
        self.stdout.write(
            f"{'would be added' if options['dry_run'] else 'added'}: {options['old']} as {options['new']}"
        )
        of = "" if found.checked == found.open else f" of the first {found.checked:,}"
        self.stdout.write(f"open dead letters: {found.open:,}; its arguments fit {found.fit:,}{of}")
        for why, count in found.unfit.items():
            self.stdout.write(f"{count:,} do not: {why}")

    def do_remove(self, options: dict[str, Any]) -> None:
        row = Redirect.objects.filter(from_type=options["old"]).first()
        if row is None:
            raise Refused(f"FROM: there is no redirect of {options['old']!r}; see `manage.py redirects list`")
        redirect_delete(redirect_id=row.pk, by=command_actor())
        if options["as_json"]:
            self.print_json(row_of(row))
        else:
            self.stdout.write(f"removed: {row.from_type} is led nowhere any more")


def row_of(row: Redirect) -> dict[str, Any]:
    """A redirect as ``list --json`` shows it. ``works``: it leads from a name that is not registered to one that is."""
    works = registry.resolve(row.from_type) is None and registry.resolve(row.to_type) is not None
    return {
        "from": row.from_type,
        "to": row.to_type,
        "works": works,
        "note": row.note,
        "by": row.by,
        "created_at": iso(row.created_at),
    }
