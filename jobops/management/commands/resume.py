"""``manage.py resume``: a job type, a resource, or everything."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.limits import services
from jobops.management.base import OperatorCommand, command_actor
from jobops.management.limit_options import add_target, check_in_force, refusals, target_of


class Command(OperatorCommand):
    """Exit codes: 0 resumed, 1 refused, or marked and not in force yet, 2 wrong usage; one line on stderr says why."""

    help = "Resumes a job type, a resource or everything: what waits goes on as the limits allow."

    def add_arguments(self, parser: CommandParser) -> None:
        """What, and why."""
        super().add_arguments(parser)
        add_target(parser, everything=True)
        parser.add_argument("--reason", default="", help="for the audit")

    def run(self, options: dict[str, Any]) -> None:
        """Resume it, and fail where Redis does not obey yet."""
        target = target_of(options, "resume")
        with refusals():
            change = services.resume(target=target, by=command_actor(), reason=options["reason"])
        check_in_force(change, "resumed")
        if options["as_json"]:
            self.print_json({"kind": target.kind, "name": target.name, "paused": False})
        else:
            self.stdout.write(f"resumed {target}")
