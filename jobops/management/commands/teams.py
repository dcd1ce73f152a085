"""``manage.py teams``: who drains dead letters and is told of alerts."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandParser

from dlq.owners.teams import Uses, names_without_team, team_delete, uses_of_names
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, take_for_granted, whole
from tenants.errors import InvalidTeam, TenantError
from tenants.models import Team
from tenants.teams import LONGEST_WAIT_MIN, TeamFields, member_add, member_remove, team_create, team_named, team_set

COLUMNS = ("name", "members", "open", "overdue", "escalates_to", "escalate_after_min", "about")
NOBODY = "none"
OPTIONS = {
    "name": "NAME",
    "about": "--about",
    "escalates_to": "--escalates-to",
    "escalate_after_min": "--after",
    "member": "LOGIN",
}
"""Where a field was typed."""


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists, makes, changes and deletes teams, and says who is in them."

    def add_arguments(self, parser: CommandParser) -> None:
        """One sub-command for each thing that can be done."""
        actions = parser.add_subparsers(dest="action", metavar="list|create|set|delete|add|remove")
        listing = actions.add_parser("list", help="all teams, and the names that are used and no team has")
        create = actions.add_parser("create", help="make a team; its name is for good")
        change = actions.add_parser("set", help="change what is given, leave the rest")
        delete = actions.add_parser("delete", help="delete it; what it owns stays its own by name")
        add = actions.add_parser("add", help="take people into it")
        remove = actions.add_parser("remove", help="take people out of it")
        for each in (create, change, delete, add, remove):
            each.add_argument("name", metavar="NAME")
        for each in (create, change):
            each.add_argument("--about", metavar="TEXT", help="what it looks after, and where to find it")
            each.add_argument("--escalates-to", metavar=f"TEAM|{NOBODY}", help="told if it does not react")
            each.add_argument(
                "--after",
                type=whole(1, LONGEST_WAIT_MIN),
                metavar="MINUTES",
                help="without an acknowledgement, before that (30)",
            )
        for each in (add, remove):
            each.add_argument("logins", nargs="+", metavar="LOGIN")
        for each in (listing, create, change, add, remove):
            super().add_arguments(each)
        take_for_granted(parser, "list", listing)

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        try:
            getattr(self, f"do_{options['action']}")(options)
        except InvalidTeam as error:
            raise Refused(f"{OPTIONS.get(error.field, error.field)}: {error.problem}") from error
        except TenantError as error:
            raise Refused(f"NAME: {error}; `manage.py teams list` shows those there are") from error

    def do_list(self, options: dict[str, Any]) -> None:
        uses = uses_of_names()
        rows = [row_of(team, uses.get(team.name, Uses())) for team in _teams()]
        missing = names_without_team(uses)
        if options["as_json"]:
            self.print_json(rows)
            return
        shown = [row | {"members": ", ".join(row["members"])} for row in rows]
        self.print_table(COLUMNS, shown, "no teams yet: make one with `teams create NAME`")
        if missing:
            self.stdout.write(f"used, and no team: {', '.join(missing)}; make them with `teams create NAME`")

    def do_create(self, options: dict[str, Any]) -> None:
        self._told(options, "made", team_create(name=options["name"], by=command_actor(), **_fields(options)))

    def do_set(self, options: dict[str, Any]) -> None:
        fields = _fields(options)
        if not fields:
            raise Usage("give at least one thing to set, see `teams set --help`")
        self._told(options, "changed", team_set(team=team_named(options["name"]), by=command_actor(), **fields))

    def do_delete(self, options: dict[str, Any]) -> None:
        team_delete(team=team_named(options["name"]), by=command_actor())
        self.stdout.write(f"deleted {options['name']}")

    def do_add(self, options: dict[str, Any]) -> None:
        team = team_named(options["name"])
        for user in _users(options["logins"]):
            member_add(team=team, user=user, by=command_actor())
        self._told(options, "changed", team)

    def do_remove(self, options: dict[str, Any]) -> None:
        team = team_named(options["name"])
        for user in _users(options["logins"]):
            member_remove(team=team, user=user, by=command_actor())
        self._told(options, "changed", team)

    def _told(self, options: dict[str, Any], done: str, team: Team) -> None:
        if options["as_json"]:
            self.print_json(row_of(_teams().get(pk=team.pk), uses_of_names().get(team.name, Uses())))
        else:
            self.stdout.write(f"{done} {team.name}")


def row_of(team: Team, uses: Uses) -> dict[str, Any]:
    """A team as ``list --json`` shows it."""
    return {
        "name": team.name,
        "about": team.about,
        "members": sorted(member.user.get_username() for member in team.members.all()),
        "escalates_to": team.escalates_to.name if team.escalates_to else None,
        "escalate_after_min": team.escalate_after_min,
        "open": uses.open,
        "overdue": uses.overdue,
        "contracts": uses.jobs,
        "rules": uses.lines,
        "default": uses.is_default,
    }


def _teams() -> Any:
    return Team.objects.select_related("escalates_to").prefetch_related("members__user").order_by("name")


def _fields(options: dict[str, Any]) -> TeamFields:
    fields: TeamFields = {}
    if options["about"] is not None:
        fields["about"] = options["about"]
    if options["escalates_to"] is not None:
        fields["escalates_to"] = "" if options["escalates_to"] == NOBODY else options["escalates_to"]
    if options["after"] is not None:
        fields["escalate_after_min"] = options["after"]
    return fields


def _users(logins: list[str]) -> list[User]:
    """All of them, before the first one is taken in or out."""
    found = {user.get_username(): user for user in User.objects.filter(username__in=logins)}
    for login in logins:
        if login not in found:
            raise Refused(f"LOGIN: there is no account {login!r}")
    return [found[login] for login in dict.fromkeys(logins)]
