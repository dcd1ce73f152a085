"""``manage.py limits``: look at the limits of resources and job types, change them, take a brake off."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from jobops.limits import services
from jobops.limits.fields import UNSET
from jobops.limits.models import Pause
from jobops.limits.reading import LimitRow, read_limits
from jobops.management.base import OperatorCommand, Usage, command_actor, iso
from jobops.management.limit_options import add_target, refusals, target_of
from jobops.runtime import get_engine
from jobops.runtime.brakes import Brake, read_brakes

COLUMNS = ("resource", "kind", "in_flight", "concurrency", "rate", "waiting", "oldest_age", "paused", "brake_until",
           "brake_by", "brake_said", "changed_by")  # fmt: skip


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists the limits and pauses of resources and job types, changes them, and takes brakes off."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help="all limits and pauses, with what runs and waits")
        change = actions.add_parser("set", help="put a limit in place of the declared one; what is not given stays")
        add_target(change)
        change.add_argument("--concurrency", type=_count, metavar="N|none", help="most jobs in flight at once")
        change.add_argument("--rate", metavar="N/TIME|none", help="most starts, such as 50/s or 2/3s")
        change.add_argument("--reason", required=True, help="for those who find it changed")
        reset = actions.add_parser("reset", help="what the contracts declare holds again")
        add_target(reset)
        reset.add_argument("--reason", default="", help="for the audit")
        release = actions.add_parser("release", help="take the brake off that a job put on (RetryLater(resource=True))")
        add_target(release)
        release.add_argument("--reason", default="", help="for the audit")
        for each in (listing, change, reset, release):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        getattr(self, f"do_{options['action']}")(options)

    def do_list(self, options: dict[str, Any]) -> None:
        """What is limited, paused or braked; first of all that everything is paused, if it is."""
        found = read_limits(get_engine())
        rows = rows_of(found.rows)
        if found.everything is not None or found.all_paused:
            rows.insert(0, _all_row(found.everything))
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "nothing is limited: no contract declares a limit, and nothing is paused")

    def do_set(self, options: dict[str, Any]) -> None:
        """Change the one or the other, or both."""
        target = target_of(options, "limits set")
        if options["concurrency"] is None and options["rate"] is None:
            raise Usage("limits set: give --concurrency, --rate or both")
        concurrency, rate = options["concurrency"], options["rate"]
        with refusals():
            change = services.limit_set(
                target=target,
                by=command_actor(),
                reason=options["reason"],
                concurrency=UNSET if concurrency is None else concurrency or None,
                rate=UNSET if rate is None else None if rate == "none" else rate,
            )
        self._told(options, "changed", change)

    def do_reset(self, options: dict[str, Any]) -> None:
        """Take the change back."""
        target = target_of(options, "limits reset")
        with refusals():
            change = services.limit_reset(target=target, by=command_actor(), reason=options["reason"])
        self._told(options, "reset", change)

    def do_release(self, options: dict[str, Any]) -> None:
        """Take the brake off."""
        target = target_of(options, "limits release")
        with refusals():
            services.brake_release(target=target, by=command_actor(), reason=options["reason"])
        self._told(options, "released the brake of", services.Change(target, in_force=True))

    def _told(self, options: dict[str, Any], done: str, change: services.Change) -> None:
        if options["as_json"]:
            found = read_limits(get_engine()).rows if change.in_force else []
            rows = rows_of([row for row in found if row.target == change.target])
            self.print_json(rows[0] if rows else _bare_row(change.target.kind, change.target.name))
        else:
            self.stdout.write(f"{done} {change.target}")
        if not change.in_force:
            self.stderr.write(f"{change.target} is {done}, but not in force yet: {change.problem}")


def rows_of(found: Sequence[LimitRow]) -> list[dict[str, Any]]:
    """Limits as ``list --json`` shows them. ``reason``: of the pause; ``brake_said``: by the job that put the brake on.
    Raises ``redis.RedisError``."""
    brakes = read_brakes([row.view for row in found if row.brake_until is not None])
    return [_row(row, brakes.get(row.view.name)) for row in found]


def _row(row: LimitRow, brake: Brake | None) -> dict[str, Any]:
    view, change = row.view, row.change
    return {
        **_bare_row(row.target.kind, row.target.name),
        "concurrency": row.limit.concurrency,
        "rate": str(row.limit.rate) if row.limit.rate is not None else None,
        "declared_by": list(row.declared.by) if row.declared is not None else [],
        "changed_by": change.changed_by if change is not None else None,
        "changed_at": iso(change.changed_at) if change is not None else None,
        "change_reason": change.reason if change is not None else None,
        "in_flight": view.inflight,
        "waiting": view.waiting,
        "oldest_age": None if row.oldest_s is None else round(row.oldest_s, 3),
        "tokens": view.tokens,
        "brake_until": iso(row.brake_until),
        "brake_by": view.brake_by if row.brake_until is not None else None,
        "brake_said": brake.said or None if brake is not None else None,
        **_pause_of(row.pause),
        "in_force": row.in_force,
    }


def _all_row(pause: Pause | None) -> dict[str, Any]:
    return {**_bare_row("all", "all"), **_pause_of(pause), "paused": True}


def _bare_row(kind: str, name: str) -> dict[str, Any]:
    empty = ("concurrency", "rate", "changed_by", "changed_at", "change_reason", "in_flight", "waiting", "oldest_age",
             "tokens", "brake_until", "brake_by", "brake_said")  # fmt: skip
    return {"resource": name, "kind": kind, **dict.fromkeys(empty), "declared_by": [], **_pause_of(None)}


def _pause_of(pause: Pause | None) -> dict[str, Any]:
    if pause is None:
        return {"paused": False, "paused_by": None, "paused_at": None, "reason": None}
    return {"paused": True, "paused_by": pause.paused_by, "paused_at": iso(pause.paused_at), "reason": pause.reason}


def _count(text: str) -> int:
    """A number, or 0 for none: None says that the option was not given."""
    if text == "none":
        return 0
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 2**31):
        raise ArgumentTypeError(f"{text!r} must be a whole number from 1, or none")
    return int(text)
