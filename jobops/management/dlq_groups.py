"""``manage.py dlq groups``: the causes of dead letters, what people decide about them, and whether they count right."""

from __future__ import annotations

from argparse import SUPPRESS, _SubParsersAction
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import F
from django.db.models.expressions import OrderBy

from dlq.access import MAX_ID
from dlq.causes.states import (
    group_acknowledge,
    group_activate,
    group_link,
    group_note,
    group_snooze,
)
from dlq.errors import InvalidAction, LetterError
from dlq.export import instant
from dlq.group_filters import ALL_STATUS, STATUSES, GroupFilter
from dlq.models import DeadLetterGroup, Severity
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, whole
from jobops.management.dlq_group_counts import check_counts, repair_counts
from jobops.management.option_types import WHEN, moment

COLUMNS = (
    "id", "title", "job", "error_class", "state", "open", "replaying", "deaths", "tenants", "owner", "assignee",
    "due_at", "last_seen_at",
)  # fmt: skip
FILTERS = ("status", "owner", "assignee", "tenant", "job", "error", "severity", "overdue", "q")
ORDERS: dict[str, tuple[str | OrderBy, ...]] = {
    "due": (F("due_at").asc(nulls_last=True), "pk"),
    "open": ("-open", "-pk"),
    "tenants": ("-tenants", "-pk"),
    "last": ("-last_seen_at", "-pk"),
    "owner": ("owner", F("due_at").asc(nulls_last=True), "pk"),
}


def add_groups(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser(
        "groups", help="the causes of dead letters; acknowledge, snooze, note; prove the counts"
    )
    add_common(parser)
    _add_filters(parser)
    counts = parser.add_mutually_exclusive_group()
    counts.add_argument(
        "--check", action="store_true", help="hold all counts against the letters; exit 1 if one is wrong"
    )
    counts.add_argument("--repair", action="store_true", help="put right what --check finds, while all else goes on")
    doings = parser.add_subparsers(dest="doing", metavar="show|ack|snooze|activate|note|link")
    show = doings.add_parser("show", help="one cause, with its notes")
    ack = doings.add_parser("ack", help="say that somebody knows")
    ack.add_argument("--note", default="", metavar="TEXT", help="write this down too")
    snooze = doings.add_parser("snooze", help="put it aside until something happens; of several, what comes first")
    snooze.add_argument("--until", type=moment, metavar="TIME", help=WHEN)
    snooze.add_argument("--grows-by", type=whole(1, 1_000_000), metavar="N", help="until so many more died")
    snooze.add_argument("--another-tenant", action="store_true", help="until one more tenant is hit")
    activate = doings.add_parser("activate", help="take up again what was acknowledged or snoozed")
    note = doings.add_parser("note", help="write something down about it")
    link = doings.add_parser("link", help="set its links")
    link.add_argument("--ticket", metavar="URL", help="of the ticket; empty takes it away")
    link.add_argument("--runbook", metavar="URL", help="of the runbook; empty takes it away")
    for each in (show, ack, snooze, activate, note, link):
        each.add_argument("id", type=whole(1, MAX_ID), metavar="ID", help="the cause's number")
        add_common(each)
        _keep_given(each)
    note.add_argument("text", metavar="TEXT")


def _keep_given(parser: CommandParser) -> None:
    """Have ``--json``, given before the action, stay given. A parser's ``set_defaults`` would store the mark itself."""
    for action in parser._actions:
        if action.dest == "as_json":
            action.default = SUPPRESS


def run_groups(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Do what was asked. Raises ``Refused``, ``Found`` and ``Usage``."""
    if options["check"]:
        check_counts(command, options["as_json"])
    elif options["repair"]:
        repair_counts(command, options["as_json"])
    elif options["doing"] is None:
        _list(command, options)
    elif options["doing"] == "show":
        _show(command, _group(options["id"]), options)
    else:
        _show(command, _act(options), options)


def row_of_group(group: DeadLetterGroup) -> dict[str, Any]:
    """What scripts rely on of one cause."""
    return {
        "id": group.pk,
        "title": group.title,
        "job": group.job_type,
        "error_class": group.error_class,
        "culprit": group.culprit,
        "state": str(group.state),
        "open": group.open,
        "replaying": group.replaying,
        "resolved": group.resolved,
        "discarded": group.discarded,
        "purged": group.purged,
        "deaths": group.deaths,
        "tenants": group.tenants,
        "owner": group.owner,
        "assignee": group.assignee.get_username() if group.assignee is not None else "",
        "severity": str(group.severity),
        "due_at": instant(group.due_at),
        "first_seen_at": instant(group.first_seen_at),
        "last_seen_at": instant(group.last_seen_at),
        "sample": group.sample_id,
    }


def _add_filters(parser: CommandParser) -> None:
    parser.add_argument("--status", "--state", choices=STATUSES, help="in this state (default undrained)")
    parser.add_argument("--owner", metavar="TEAM", help="only this team's")
    parser.add_argument("--assignee", metavar="LOGIN", help="only this person's; none: nobody's")
    parser.add_argument("--tenant", metavar="SLUG", help="only those that hit this tenant")
    parser.add_argument("--job", metavar="NAME", help="only of this job type")
    parser.add_argument("--error", metavar="CLASS", help="only of this class, whole or its last part")
    parser.add_argument("--severity", choices=Severity.values, help="only of this severity")
    parser.add_argument("--overdue", action="store_true", default=None, help="only with a letter past its due time")
    parser.add_argument("--search", dest="q", metavar="WORDS", help="only those in which all words occur")
    parser.add_argument("--sort", choices=list(ORDERS), default="due", help="default due: what is due first")
    parser.add_argument("--limit", type=whole(1, 1_000_000), metavar="N", help="at most so many")


def _list(command: OperatorCommand, options: dict[str, Any]) -> None:
    asked = {name: options[name] for name in FILTERS if options[name] is not None}
    # No page waits for it: what a command searches, it searches in all letters.
    deep = {"deep": "1"} if asked.get("q") else {}
    wanted, faults = GroupFilter.parse({name: "1" if value is True else value for name, value in asked.items()} | deep)
    if faults:
        raise Refused("; ".join(f"--{'search' if name == 'q' else name}: {why}" for name, why in faults.items()))
    groups = wanted.apply(DeadLetterGroup.objects.all())
    if wanted.tenant:
        groups = groups.filter(shares__tenant__slug=wanted.tenant)
    ordered = groups.select_related("assignee").order_by(*ORDERS[options["sort"]])[: options["limit"]]
    shown = [row_of_group(group) for group in ordered.iterator(chunk_size=500)]
    if options["as_json"]:
        command.print_json(shown)
    else:
        empty = "no causes" if wanted.status == ALL_STATUS or asked else "no cause has letters to drain"
        command.print_table(COLUMNS, shown, empty)


def _act(options: dict[str, Any]) -> DeadLetterGroup:
    who: dict[str, Any] = {"group_id": options["id"], "by": command_actor()}
    try:
        match options["doing"]:
            case "ack":
                group_acknowledge(**who, note=options["note"])
            case "snooze":
                group_snooze(
                    **who,
                    until=options["until"],
                    grows_by=options["grows_by"],
                    another_tenant=options["another_tenant"],
                )
            case "activate":
                group_activate(**who)
            case "note":
                group_note(**who, text=options["text"])
            case _:
                group_link(**who, ticket_url=options["ticket"], runbook_url=options["runbook"])
    except DeadLetterGroup.DoesNotExist:
        raise _unknown(options["id"]) from None
    except InvalidAction as error:
        raise Usage(f"{OPTIONS.get(error.field, error.field)}: {error.problem}") from error
    except LetterError as error:
        raise Refused(str(error)) from error
    return _group(options["id"])


OPTIONS = {
    "until": "--until",
    "grows_by": "--grows-by",
    "snooze": "--until, --grows-by or --another-tenant",
    "ticket_url": "--ticket",
    "runbook_url": "--runbook",
}
"""Where a field was typed."""


def _show(command: OperatorCommand, group: DeadLetterGroup, options: dict[str, Any]) -> None:
    shown = _details(group)
    if options["as_json"]:
        command.print_json(shown)
        return
    for line in _told(shown):
        command.stdout.write(line)


def _details(group: DeadLetterGroup) -> dict[str, Any]:
    return row_of_group(group) | {
        "state_by": group.state_by,
        "state_at": instant(group.state_at),
        "snoozed_until": instant(group.snoozed_until),
        "snoozed_to_deaths": group.snoozed_to_deaths,
        "snoozed_to_tenants": group.snoozed_to_tenants,
        "reopened_at": instant(group.reopened_at),
        "reopened_from": group.reopened_from,
        "reopenings": group.reopenings,
        "owned_by": group.owned_by,
        "ticket": group.ticket_url,
        "runbook": group.runbook_url,
        "notes": [{"at": instant(note.at), "by": note.by, "text": note.text} for note in group.notes.all()],
    }


def _told(shown: dict[str, Any]) -> Iterator[str]:
    for name, value in shown.items():
        if name != "notes" and value not in (None, ""):
            yield f"{name:<18} {value}"
    for note in shown["notes"]:
        yield f"\n{note['at']} {note['by']}\n{note['text']}"


def _group(group_id: int) -> DeadLetterGroup:
    group = DeadLetterGroup.objects.select_related("assignee").filter(pk=group_id).first()
    if group is None:
        raise _unknown(group_id)
    return group


def _unknown(group_id: int) -> Refused:
    return Refused(f"cause {group_id}: there is none of this number; see `manage.py dlq groups --status all`")
