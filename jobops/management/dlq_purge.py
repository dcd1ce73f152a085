"""``manage.py dlq purge``: delete drained letters for good, before retention does, or tell what would go."""

from __future__ import annotations

from argparse import _SubParsersAction
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Count, QuerySet
from django.utils import timezone

from dlq.errors import InvalidAction
from dlq.models import UNDRAINED, DeadLetter
from dlq.purging import check_age, purge, purgeable
from dlq.retention import announcement, kept_for
from jobops.contracts import durations
from jobops.management.base import OperatorCommand, Stopped, Usage, command_actor
from jobops.management.dlq_filters import add_filters, asked, filter_of
from jobops.management.option_types import duration


def add_purge(actions: _SubParsersAction[Any], add_common: Callable[[CommandParser], None]) -> None:
    """Add the sub-command; ``add_common`` adds what all have."""
    parser = actions.add_parser(
        "purge",
        help="delete drained letters for good; one that is not drained is never deleted",
        # --older-than is here how long they have been drained.
        conflict_handler="resolve",
    )
    add_filters(parser, "drained")
    parser.add_argument(
        "--older-than", type=duration, dest="drained_for", metavar="AGE",
        help="drained for so long, such as 60d; default: as long as retention keeps them",
    )  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="tell what would go, now and in the next days")
    parser.add_argument("--yes", action="store_true", help="do it; nothing brings them back")
    add_common(parser)


def run_purge(command: OperatorCommand, options: dict[str, Any]) -> None:
    """Purge, or tell what would go. Raises ``Usage``, ``Refused`` and ``Stopped``."""
    age = kept_for() if options["drained_for"] is None else options["drained_for"]
    letters, chosen = _meant(options)
    try:
        check_age(age)
    except InvalidAction as error:
        raise Usage(f"--older-than: {error.problem}") from error
    if options["dry_run"]:
        _tell(command, options, purgeable(timezone.now() - age, letters), age)
        return
    purged = 0
    try:
        for count in purge(letters=letters, older_than=age, by=command_actor(), chosen=chosen):
            purged += count
    except KeyboardInterrupt:
        raise Stopped(f"{purged:,} purged; the others are as they were") from None
    if options["as_json"]:
        command.print_json({"dry_run": False, "older_than": durations.show(age), "purged": purged})
    else:
        command.stdout.write(f"{purged:,} purged" if purged else "no drained dead letter matches")


def _meant(options: dict[str, Any]) -> tuple[QuerySet[DeadLetter], str]:
    """The letters that are asked for, and how. Raises ``Usage`` and ``Refused``."""
    if options["dry_run"] == options["yes"]:
        raise Usage("dlq purge: say --yes, for nothing brings them back, or --dry-run to see what would go")
    # No age of the first death is asked for here.
    options = options | {"older_than": None}
    wanted = filter_of(options, status="all")
    if options["overdue"] or (wanted.states and set(wanted.states) <= set(UNDRAINED)):
        raise Usage("dlq purge: only what is drained is purged, so neither --overdue nor such a --status")
    return wanted.apply(DeadLetter.objects.all()), wanted.as_query() if asked(options) else ""


def _tell(command: OperatorCommand, options: dict[str, Any], letters: QuerySet[DeadLetter], age: timedelta) -> None:
    teams = dict(letters.order_by().values_list("owner").annotate(n=Count("pk")).order_by("-n", "owner"))
    # By retention, whoever they are of: a filter is of this purge, and no part of that.
    soon = announcement()
    days = [
        {"day": day.isoformat(), "team": team.owner, "letters": count}
        for place, day in enumerate(soon.days)
        for team in soon.teams
        if (count := team.days[place])
    ]
    matched = sum(teams.values())
    if options["as_json"]:
        told = {"dry_run": True, "older_than": durations.show(age), "matched": matched, "teams": teams}
        command.print_json(told | {"purged": 0, "retention_next": days})
        return
    command.stdout.write(f"{matched:,} would be purged: drained for more than {durations.show(age)}")
    command.print_table(("team", "letters"), [{"team": team, "letters": n} for team, n in teams.items()], "nothing")
    more = len(soon.days) - 1
    command.stdout.write(f"\nretention purges {soon.total:,} by itself, today and in the {more} days after:")
    command.print_table(("day", "team", "letters"), days, "nothing")
