"""Reading the audit. Rows are in the order of their ids, and pages begin where others ended, so nothing is counted.

A question is put as several querysets without a row in common, each of which one index answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from django.db.models import QuerySet

from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry

Rows = QuerySet[AuditEntry]
CHUNK = 1000


def narrowed(rows: Rows, wanted: AuditFilter, tenant_ids: Collection[int] = ()) -> list[Rows]:
    """The rows that the filter asks for. ``tenant_ids``: those of its tenant's slug, see ``former_tenants``."""
    if wanted.what:
        rows = (
            rows.filter(action=wanted.what) if "." in wanted.what else rows.filter(action__startswith=f"{wanted.what}.")
        )
    if wanted.target:
        kind, target_id = wanted.target_parts
        rows = rows.filter(target_kind=kind, target_id=target_id)
    if wanted.request:
        rows = rows.filter(request_id=wanted.request)
    if wanted.since_at:
        rows = rows.filter(at__gte=wanted.since_at)
    if wanted.until_at:
        rows = rows.filter(at__lt=wanted.until_at)
    parts = [rows]
    if wanted.tenant:
        parts = [rows.filter(tenant_id=pk) for pk in sorted(set(tenant_ids))]
        parts.append(rows.filter(tenant_id=None, tenant_slug=wanted.tenant))
    if wanted.who:
        names = [wanted.who] if ":" in wanted.who else [wanted.who, f"command:{wanted.who}"]
        parts = [part.filter(actor=name) for part in parts for name in names]
    return parts


def former_tenants(slug: str) -> list[int]:
    """The ids of deleted tenants that had this slug."""
    deleted = AuditEntry.objects.filter(action="tenant.delete", tenant_slug=slug, tenant_id__isnull=False)
    return [pk for pk in deleted.values_list("tenant_id", flat=True) if pk is not None]


def newest(parts: Sequence[Rows], limit: int, below: int | None = None) -> list[AuditEntry]:
    """At most ``limit`` rows, the newest first; with ``below``, of those with a smaller id."""
    return merged(parts, limit, below)


def oldest(parts: Sequence[Rows], limit: int, above: int = 0) -> list[AuditEntry]:
    """At most ``limit`` rows with a greater id, the oldest first."""
    return merged(parts, limit, above, back=True)


def merged(
    parts: Sequence[Rows], limit: int, beyond: int | None, *, back: bool = False, columns: Sequence[str] = ()
) -> list[Any]:
    """At most ``limit`` rows beyond this id, the newest first, or going ``back`` the oldest: a query for each part.
    ``columns``, ``pk`` among them: named tuples of these instead of entries."""
    found: list[Any] = []
    for part in parts:
        rows = part if beyond is None else part.filter(**{f"pk__{'gt' if back else 'lt'}": beyond})
        rows = rows.order_by("pk" if back else "-pk")
        found += (rows.values_list(*columns, named=True) if columns else rows)[:limit]
    return sorted(found, key=lambda row: row.pk, reverse=not back)[:limit]


def walk(parts: Sequence[Rows]) -> Iterator[AuditEntry]:
    """All rows, the oldest first, a thousand in memory. No transaction and no cursor stays open meanwhile."""
    above = 0
    while chunk := oldest(parts, CHUNK, above):
        yield from chunk
        above = chunk[-1].pk


def newest_id() -> int:
    """The id of the newest row, 0 without any."""
    return AuditEntry.objects.order_by("-id").values_list("id", flat=True).first() or 0
