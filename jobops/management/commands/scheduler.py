"""``manage.py scheduler``: moves delayed jobs, rescues lost ones and does the time-driven duties."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import close_old_connections

from jobops.alerts.sending import Sender
from jobops.management.base import OperatorCommand, Refused
from jobops.runtime import get_engine
from jobops.scheduling.aside import Aside
from jobops.scheduling.scheduler import Scheduler
from jobops.steward import foreign
from jobops.steward.duties import duties


class Command(OperatorCommand):
    keeps_running = True
    help = (
        "Runs the scheduler: delayed jobs, rescue of lost jobs, outbox relay, dead-letter intake, repair, alerts. "
        "Any number may run; one leads. SIGTERM ends it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        super().add_arguments(parser)
        parser.add_argument("--once", action="store_true", help="do everything that is due once, then exit")

    def run(self, options: dict[str, Any]) -> None:
        """Run until a signal, or once."""
        if settings.JOBOPS_REDIS_URL.startswith("unix://"):
            # A Redis elsewhere may come up later, and is waited for. The embedded one is started by people.
            get_engine().redis.ping()
        scheduler = Scheduler(
            get_engine(),
            duties(),
            lease_s=settings.JOBOPS_LEASE_SECONDS,
            housekeeping=close_old_connections,
            asides=[
                Aside("alert messages", Sender().run, housekeeping=close_old_connections),
                foreign.aside(),
            ],
        )
        if not options["once"]:
            scheduler.run()
            return
        try:
            done = scheduler.run_once()
        except ExceptionGroup as group:
            raise Refused("; ".join(f"{type(error).__name__}: {error}" for error in group.exceptions)) from group
        if options["as_json"]:
            self.print_json([{"duty": name, "done": count} for name, count in done.items()])
        else:
            rows = [{"duty": name, "done": count} for name, count in done.items()]
            self.print_table(["duty", "done"], rows, "nothing to do")
