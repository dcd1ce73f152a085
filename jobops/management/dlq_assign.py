"""``manage.py dlq assign``: hand dead letters or whole causes on to a team or a person, or give them back."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections import Counter
from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from dlq.asking import numbers_in
from dlq.errors import InvalidAction, LetterError
from dlq.models import DeadLetter, DeadLetterGroup
from dlq.owners.assigning import UNSET, Unset, group_assign, group_give_back, letter_assign, letter_give_back
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor
from jobops.management.dlq_filters import add_filters, asked, filter_of, letters_named

NOBODY = "none"
OPTIONS = {"owner": "--to", "assignee": "--assignee"}
"""Where a field was typed."""


def add_assign(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser(
        "assign",
        help="hand undrained letters on to a team or a person, or give them back to the rules",
        description="With --group and no other filter, a cause as a whole: what dies of it from now on goes too.",
        # --assignee is whom they go to, and no filter here.
        conflict_handler="resolve",
    )
    parser.add_argument("ids", nargs="*", metavar="NUMBER|JOB", help="these letters; or give filters instead")
    add_filters(parser, "undrained")
    parser.add_argument("--to", metavar="TEAM", help="the team they go to")
    parser.add_argument(
        "--assignee", dest="person", metavar=f"LOGIN|{NOBODY}", help="the person they go to, or nobody any more"
    )
    parser.add_argument("--give-back", action="store_true", help="to whom the rules say, whoever has them")
    add_common(parser)


def run_assign(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Assign, and print how many letters and causes."""
    given = asked(options | {"assignee": None})
    _check(options, given)
    person = _person(options["person"])
    if given.keys() == {"group"}:
        report = _groups(numbers_in(given["group"]), options, person)
    else:
        report = _letters(options, given, person)
    if options["as_json"]:
        command.print_json(report)
    else:
        command.stdout.write(_told(report))


def _check(options: dict[str, Any], given: dict[str, Any]) -> None:
    goes = options["to"] is not None or options["person"] is not None
    if goes == options["give_back"]:
        raise Usage("dlq assign: give either --to or --assignee (or both), or --give-back")
    if bool(options["ids"]) == bool(given):
        raise Usage("dlq assign: which ones? Give either letters by name, or filters")


def _letters(options: dict[str, Any], given: dict[str, Any], person: User | Unset | None) -> dict[str, Any]:
    if options["ids"]:
        letters = letters_named(options["ids"])
    else:
        letters = filter_of(options | {"assignee": None}).apply(DeadLetter.objects.all())
    ids = list(letters.order_by("pk").values_list("pk", flat=True))
    skipped: Counter[str] = Counter()
    for letter_id in ids:
        try:
            if options["give_back"]:
                letter_give_back(letter_id=letter_id, by=command_actor())
            else:
                letter_assign(letter_id=letter_id, by=command_actor(), owner=options["to"], assignee=person)
        except InvalidAction as error:
            if error.field in OPTIONS:
                raise Refused(f"{OPTIONS[error.field]}: {error.problem}") from error
            skipped[error.problem] += 1
        except LetterError as error:
            skipped[getattr(error, "why", str(error))] += 1
    skips = sum(skipped.values())
    return {"matched": len(ids), "done": len(ids) - skips, "skipped": skips, "skipped_for": dict(skipped), "groups": 0}


def _groups(numbers: list[int], options: dict[str, Any], person: User | Unset | None) -> dict[str, Any]:
    done = letters = 0
    skipped: Counter[str] = Counter()
    for group_id in numbers:
        try:
            if options["give_back"]:
                changed = group_give_back(group_id=group_id, by=command_actor())
            else:
                changed = group_assign(group_id=group_id, by=command_actor(), owner=options["to"], assignee=person)
        except DeadLetterGroup.DoesNotExist as error:
            raise Refused(f"--group: there is no cause {group_id}; see `manage.py dlq groups`") from error
        except InvalidAction as error:
            if error.field in OPTIONS:
                raise Refused(f"{OPTIONS[error.field]}: {error.problem}") from error
            skipped[error.problem] += 1
            continue
        done, letters = done + 1, letters + changed.letters
    skips = sum(skipped.values())
    return {"matched": len(numbers), "done": letters, "skipped": skips, "skipped_for": dict(skipped), "groups": done}


def _person(login: str | None) -> User | Unset | None:
    if login is None:
        return UNSET
    if login == NOBODY:
        return None
    user = None if "\0" in login else User.objects.filter(username=login).first()
    if user is None:
        raise Refused(f"--assignee: there is no account {login!r}")
    return user


def _told(report: dict[str, Any]) -> str:
    if not report["matched"]:
        return "no dead letter matches"
    head = f"{report['done']:,} assigned"
    if report["groups"]:
        head = f"{report['groups']:,} causes assigned, with {report['done']:,} letters so far"
    if report["skipped"]:
        reasons = "; ".join(f"{why} ({count:,})" for why, count in report["skipped_for"].items())
        head = f"{head}, {report['skipped']:,} skipped: {reasons}"
    return head
