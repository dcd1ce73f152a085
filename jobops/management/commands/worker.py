"""``manage.py worker``: runs jobs, in one or more slot processes under a supervisor."""

from __future__ import annotations

import logging
import sys
from importlib import metadata
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from redis.exceptions import RedisError

from jobops.contracts import registry
from jobops.contracts.runner import ContractRunner
from jobops.embedded import advice
from jobops.engine.lanes import known_lanes
from jobops.engine.supervisor import Supervisor
from jobops.engine.worker_options import WorkerOptions
from jobops.management.base import OperatorCommand, Refused, Usage
from jobops.management.connections import HOOKS
from jobops.runtime import get_engine

log = logging.getLogger("jobops.worker")


class Command(OperatorCommand):
    """Works until SIGTERM or Ctrl-C, or in burst until nothing is runnable; exit code 0 then."""

    keeps_running = True
    help = (
        "Runs jobs. SIGTERM or Ctrl-C: claim nothing more, let running jobs finish, give back the rest, exit 0; "
        "a second one does not wait."
    )
    # A job type with a broken contract or in a module that cannot be imported would send its jobs to the dead letters.
    requires_system_checks = ("jobops",)

    def add_arguments(self, parser: CommandParser) -> None:
        """Options of the command."""
        parser.add_argument("--processes", type=int, default=1, metavar="N", help="slots: jobs at once (default 1)")
        parser.add_argument(
            "--lanes",
            metavar="A,B",
            help="serve these lanes only (default: all that are set); also one that JOBOPS_LANES no longer names",
        )
        parser.add_argument("--burst", action="store_true", help="exit when nothing is runnable")
        parser.add_argument(
            "--drain-timeout", type=float, default=30, metavar="S", help="seconds for running jobs to end (default 30)"
        )
        parser.add_argument("--max-jobs", type=int, metavar="N", help="replace a slot after so many jobs")
        parser.add_argument("--max-memory", type=int, metavar="MIB", help="replace a slot that has grown above this")

    def run(self, options: dict[str, Any]) -> None:
        """Work, and exit with the supervisor's code."""
        try:
            worker_options = WorkerOptions(
                lanes=_lanes(options["lanes"]),
                processes=options["processes"],
                burst=options["burst"],
                drain_timeout_s=options["drain_timeout"],
                max_jobs=options["max_jobs"],
                max_memory_mib=options["max_memory"],
                heartbeat_s=settings.JOBOPS_HEARTBEAT_SECONDS,
                lease_s=settings.JOBOPS_LEASE_SECONDS,
                result_limit=settings.JOBOPS_PAYLOAD_LIMIT,
                hooks=HOOKS,
                job_types=registry.names(),
            )
        except ValueError as error:
            raise Usage(f"--{str(error).replace('_', '-').replace('max-memory-mib', 'max-memory')}") from error
        _expect_redis()
        code = Supervisor(get_engine, ContractRunner(), worker_options, version=_version()).run()
        if code:
            sys.exit(code)


def _lanes(text: str | None) -> tuple[str, ...]:
    if text is None:
        return tuple(settings.JOBOPS_WORKER_LANES)
    lanes = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    former = [lane for lane in lanes if lane not in settings.JOBOPS_LANES]
    if former:
        # A lane that was taken out of the settings: Redis still knows it, and jobs may wait there for somebody to come.
        known = known_lanes(get_engine())
        for lane in former:
            if lane not in known:
                raise Usage(f"--lanes: {lane!r} is not a lane; there are {', '.join(known)}")
        log.warning("serving %s, which JOBOPS_LANES no longer names: nothing new comes in there", ", ".join(former))
    return lanes


def _expect_redis() -> None:
    """A Redis elsewhere may come up later, and is waited for. The embedded one is started by people."""
    if settings.JOBOPS_REDIS_URL.startswith("unix://"):
        try:
            get_engine().redis.ping()
        except RedisError as error:
            raise Refused(advice(settings.JOBOPS_REDIS_URL)) from error


def _version() -> str:
    try:
        return metadata.version("jobops")
    except metadata.PackageNotFoundError:
        return ""
