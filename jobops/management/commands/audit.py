"""``manage.py audit``: who changed what, when and why."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from jobops.audit import filters, reading
from jobops.audit.changes import changes_of, in_one_line
from jobops.audit.exporting import row_of
from jobops.audit.models import AuditEntry
from jobops.management.base import OperatorCommand, Usage, unknown_tenant, whole
from tenants.models import Tenant
from tenants.recorded import facts_of

MOST = 100_000
COLUMNS = ("at", "who", "action", "target", "tenant", "from_to", "reason", "request")
OPTIONS = {
    "who": ("NAME", "only what this person or command did"),
    "action": ("ACTION", "only this (letter.replay), or this kind (letter)"),
    "tenant": ("SLUG", "only what concerns this tenant"),
    "target": ("KIND:ID", "only what was done to this, such as letter:58112"),
    "request": ("ID", "only what one request or command did"),
    "since": ("WHEN", "a date, a time, or how long ago, such as 2h"),
    "until": ("WHEN", "the same; what happened at that instant is left out"),
}


class Command(OperatorCommand):
    """Exit codes: 0 done, 1 refused or failed, 2 wrong usage; one line on stderr says why."""

    help = "Lists what was changed, by whom, when and why; the newest change first."

    def add_arguments(self, parser: CommandParser) -> None:
        """Filters; without any, all rows."""
        super().add_arguments(parser)
        for name, (metavar, told) in OPTIONS.items():
            parser.add_argument(f"--{name}", metavar=metavar, default="", help=told)
        parser.add_argument(
            "--limit", type=whole(1, MOST), default=50, metavar="N", help="at most so many (default 50)"
        )

    def run(self, options: dict[str, Any]) -> None:
        """List them."""
        wanted, faults = filters.parse({"what" if name == "action" else name: options[name] for name in OPTIONS})
        for name, fault in faults.items():
            raise Usage(f"--{'action' if name == 'what' else name}: {fault}")
        tenant_ids = _tenant_ids(wanted.tenant) if wanted.tenant else []
        found = reading.newest(reading.narrowed(AuditEntry.objects.all(), wanted, tenant_ids), options["limit"] + 1)
        rows = [row_of(entry) for entry in found[: options["limit"]]]
        if options["as_json"]:
            self.print_json(rows)
            return
        shown = [row | _told(entry) for row, entry in zip(rows, found, strict=False)]
        self.print_table(COLUMNS, shown, "nothing of that kind was changed" if not wanted.is_empty else "no change yet")
        if len(found) > len(rows):
            self.stdout.write(f"the newest {len(rows):,}; --limit N shows more")


def _told(entry: AuditEntry) -> dict[str, str]:
    usual = facts_of(Tenant(slug=entry.target_id, name=entry.target_id)) if entry.action == "tenant.create" else {}
    return {
        "who": entry.actor,
        "target": f"{entry.target_kind}:{entry.target_id}",
        "from_to": in_one_line(changes_of(entry.before, entry.after, usual)),
        "request": entry.request_id,
    }


def _tenant_ids(slug: str) -> list[int]:
    found = [*Tenant.objects.filter(slug=slug).values_list("pk", flat=True), *reading.former_tenants(slug)]
    if not found and not AuditEntry.objects.filter(tenant_slug=slug).exists():
        raise unknown_tenant("--tenant", slug)
    return found
