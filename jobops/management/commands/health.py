"""``manage.py health``: for whatever keeps containers running, whether the process in this one does its work."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.engine.client import Engine
from jobops.engine.registrations import this_host
from jobops.engine.worker_views import read_supervisors
from jobops.management.base import Found, OperatorCommand
from jobops.runtime import get_engine
from jobops.scheduling.scheduler import LOCK


class Command(OperatorCommand):
    """Exit code 0 or 1, and one line."""

    help = "Exits 0 if a worker of this host reports (worker), or if a scheduler leads on any host (scheduler); else 1."

    def add_arguments(self, parser: CommandParser) -> None:
        """What is asked about."""
        super().add_arguments(parser)
        parser.add_argument("process", choices=("worker", "scheduler"), help="what is to be running")

    def run(self, options: dict[str, Any]) -> None:
        """Look, and say what was found."""
        found = (_worker if options["process"] == "worker" else _scheduler)(get_engine())
        if options["as_json"]:
            self.print_json({"process": options["process"], "id": found})
        else:
            self.stdout.write(f"{options['process']} {found} is running")


def _worker(engine: Engine) -> str:
    host = this_host()
    for one in read_supervisors(engine):
        if one.host == host and one.state != "lost":
            return one.id
    raise Found(f"no worker of {host} has reported lately")


def _scheduler(engine: Engine) -> str:
    leader = engine.redis.get(engine.keys.lock(LOCK))
    if not isinstance(leader, bytes):
        raise Found("no scheduler leads")
    return leader.decode(errors="replace")
