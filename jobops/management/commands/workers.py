"""``manage.py workers``: who works on what, and asking a worker to drain."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from jobops.audit import recording
from jobops.engine.registrations import request_drain
from jobops.engine.worker_views import SlotView, SupervisorView, read_supervisors
from jobops.management.base import OperatorCommand, Refused, Usage, command_actor, iso
from jobops.runtime import get_engine

COLUMNS = ("worker", "slot", "state", "job", "pid", "jobs", "busy_seconds")


class Command(OperatorCommand):
    """``list`` and ``drain``."""

    help = "Lists the workers with their slots, or asks them to drain: finish what runs, claim nothing more, end."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|drain")
        listing = actions.add_parser("list", help="workers, their slots and what runs there")
        super().add_arguments(listing)
        drain = actions.add_parser("drain", help="let a worker finish and end")
        super().add_arguments(drain)
        drain.add_argument("ids", nargs="*", metavar="ID", help="a worker's id, as `workers list` shows it")
        drain.add_argument("--all", action="store_true", help="every worker")

    def run(self, options: dict[str, Any]) -> None:
        """Do what the sub-command says."""
        if options["action"] == "list":
            self._list(read_supervisors(get_engine()), as_json=options["as_json"])
        else:
            self._drain(options["ids"], everyone=options["all"], as_json=options["as_json"])

    def _list(self, workers: list[SupervisorView], *, as_json: bool) -> None:
        if as_json:
            self.print_json([_document(worker) for worker in workers])
            return
        rows = [_row(worker, slot) for worker in workers for slot in worker.slots or (None,)]
        self.print_table(COLUMNS, rows, "no worker runs: start one with `manage.py worker`")

    def _drain(self, ids: list[str], *, everyone: bool, as_json: bool) -> None:
        if bool(ids) == everyone:
            raise Usage("name the workers to drain, or give --all")
        living = [worker.id for worker in read_supervisors(get_engine()) if worker.state != "lost"]
        for wanted in ids:
            if wanted not in living:
                raise Refused(f"no living worker is called {wanted!r}; `manage.py workers list` shows those there are")
        chosen = living if everyone else list(dict.fromkeys(ids))
        for worker in chosen:
            # Written down first: when Redis does not take the request, the row is undone.
            with transaction.atomic():
                done = recording.Change("worker.drain", "worker", worker, after={"state": "draining"})
                recording.record(command_actor(), done)
                request_drain(get_engine(), worker)
        if as_json:
            self.print_json([{"id": worker, "state": "draining"} for worker in chosen])
        else:
            self.stdout.write("\n".join(f"{worker}: draining" for worker in chosen) or "no worker runs")


def _document(worker: SupervisorView) -> dict[str, Any]:
    return {
        "id": worker.id,
        "state": worker.state,
        "host": worker.host,
        "pid": worker.pid,
        "lanes": list(worker.lanes),
        "started_at": iso(worker.started_at),
        "heartbeat_at": iso(worker.heartbeat_at),
        "jobs": worker.jobs,
        "version": worker.version,
        "slots": [
            {
                "name": slot.name,
                "state": slot.state,
                "job": slot.job_id or None,
                "pid": slot.pid,
                "succeeded": slot.succeeded,
                "failed": slot.failed,
                "busy_seconds": slot.busy_s,
            }
            for slot in worker.slots
        ],
    }


def _row(worker: SupervisorView, slot: SlotView | None) -> dict[str, Any]:
    return {
        "worker": worker.id,
        "slot": slot.name.removeprefix(f"{worker.id}-") if slot else None,
        "state": worker.state if slot is None or worker.state != "running" else slot.state,
        "job": (slot.job_id or None) if slot else None,
        "pid": slot.pid if slot else worker.pid,
        "jobs": slot.succeeded + slot.failed if slot else worker.jobs,
        "busy_seconds": slot.busy_s if slot else None,
    }
