"""``manage.py batches``: list batches, show one, cancel one."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.batches.members import on_the_way
from jobops.batches.models import Batch
from jobops.batches.verdict import status_of
from jobops.management.base import OperatorCommand, Refused, command_actor, iso, unknown_tenant, whole
from jobops.runtime.batches import batch_cancel, counts_of
from tenants.models import Tenant

MOST = 10_000
COLUMNS = ("id", "tenant", "name", "state", "total", "succeeded", "dead", "created_at")


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists batches, shows how one stands, or cancels one."

    def add_arguments(self, parser: CommandParser) -> None:
        """Sub-commands of the command."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|cancel")
        shown = actions.add_parser("list", help="batches, the newest first, as they were counted last")
        shown.add_argument("--tenant", metavar="SLUG", help="only this tenant's")
        shown.add_argument("--state", choices=Batch.State.values, help="only in this state")
        shown.add_argument("--limit", type=whole(1, MOST), default=50, metavar="N", help="at most so many (default 50)")
        one = actions.add_parser("show", help="how one stands now")
        one.add_argument("id", metavar="ID")
        stop = actions.add_parser("cancel", help="end what has not started; what runs goes on, nothing runs after it")
        stop.add_argument("id", metavar="ID")
        stop.add_argument("--reason", default="", help="for those who look for it later")
        for each in (shown, one, stop):
            super().add_arguments(each)

    def run(self, options: dict[str, Any]) -> None:
        """Do the sub-command."""
        {"list": self._list, "show": self._show, "cancel": self._cancel}[options["action"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        batches = Batch.objects.order_by("-created_at", "-pk").defer("then_data")
        if options["tenant"] is not None:
            batches = batches.filter(tenant=options["tenant"])
        if options["state"] is not None:
            batches = batches.filter(state=options["state"])
        rows = [_row(batch) for batch in batches[: options["limit"]]]
        if not rows and options["tenant"] and not Tenant.objects.filter(slug=options["tenant"]).exists():
            raise unknown_tenant("--tenant", options["tenant"])
        if options["as_json"]:
            self.print_json(rows)
        else:
            self.print_table(COLUMNS, rows, "no such batches")

    def _show(self, options: dict[str, Any]) -> None:
        batch = _batch(options["id"])
        status = status_of(batch, counts_of(batch))
        document = _row(batch) | {
            "total": status.total,
            "left": status.left,
            "parked": on_the_way(batch).parked if batch.ended_at is None else 0,
            "succeeded": status.succeeded,
            "discarded": status.discarded,
            "cancelled": status.cancelled,
            "coalesced": status.coalesced,
            "dead": status.dead,
            "lost": status.lost,
            "then": batch.then_job or None,
            "then_job_id": status.then_job_id or None,
            "correlation_id": batch.correlation_id or None,
            "ended_at": iso(batch.ended_at),
        }
        if options["as_json"]:
            self.print_json(document)
            return
        for name, value in document.items():
            self.stdout.write(f"{name:<15} {'-' if value is None or value == '' else value}")

    def _cancel(self, options: dict[str, Any]) -> None:
        batch = _batch(options["id"])
        if batch_cancel(batch_id=batch.pk, by=command_actor(), reason=options["reason"]) is None:
            batch.refresh_from_db()
            raise Refused(f"batch {batch.pk} cannot be cancelled: it is over already ({batch.state})")
        if options["as_json"]:
            self.print_json({"id": batch.pk, "state": str(Batch.State.CANCELLED)})
        else:
            self.stdout.write(f"{batch.pk}  cancelled")


def _batch(batch_id: str) -> Batch:
    batch = Batch.objects.filter(pk=batch_id).first() if "\0" not in batch_id else None
    if batch is None:
        raise Refused(f"batch {batch_id}: nothing is kept of it, or it never existed")
    return batch


def _row(batch: Batch) -> dict[str, Any]:
    return {
        "id": batch.pk,
        "tenant": batch.tenant,
        "name": batch.name,
        "state": str(batch.state),
        "total": batch.total,
        "succeeded": batch.succeeded,
        "dead": batch.dead,
        "created_at": iso(batch.created_at),
    }
