"""``manage.py demo_incident``: let it go wrong in the demo that runs here, as the button on ``/demo/`` does."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.demo.control import ServerAway
from jobops.demo.incident import DEATHS, FEWEST, MOST, let_it_go_wrong
from jobops.demo.story import happened
from jobops.management.base import OperatorCommand, Refused, command_actor, whole


class Command(OperatorCommand):
    """Exit codes: 0 sent, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Break the demo's payment provider, and send what dies of that and of two causes more."

    def add_arguments(self, parser: CommandParser) -> None:
        """How many deaths."""
        super().add_arguments(parser)
        parser.add_argument(
            "--deaths",
            type=whole(FEWEST, MOST),
            default=DEATHS,
            metavar="N",
            help=f"in all, from {FEWEST} to {MOST} (default {DEATHS})",
        )

    def run(self, options: dict[str, Any]) -> None:
        """Send them; they die within a minute or two."""
        try:
            sent = let_it_go_wrong(deaths=options["deaths"], by=command_actor())
        except ServerAway as error:
            raise Refused(str(error)) from error
        if options["as_json"]:
            self.print_json({"sent": sent.by_type, "refused": sent.refused})
        else:
            self.stdout.write(happened(sent))
