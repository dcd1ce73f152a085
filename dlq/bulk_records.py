"""What the audit says of a bulk action as a whole; each letter that it changes has a row of its own."""

from collections.abc import Mapping
from typing import Any

from dlq.models import BulkAction
from jobops.audit.recording import Change, record
from tenants.models import Tenant
from tenants.services import Actor

ALL = "all to be drained"
"""What is chosen by a filter that asks nothing."""


def record_bulk(
    by: Actor,
    verb: str,
    bulk: BulkAction,
    before: Mapping[str, Any] | None = None,
    reason: str = "",
    after: Mapping[str, Any] | None = None,
) -> None:
    """Add ``bulk.<verb>`` to the audit; call it in the transaction of the change. ``reason``: instead of its own.
    ``after``: what is to be told besides what is told of every bulk action."""
    tenant = _only_tenant(bulk)
    change = Change(
        action=f"bulk.{verb}",
        target_kind="bulk",
        target_id=bulk.pk,
        tenant_id=tenant.pk if tenant else None,
        tenant_slug=tenant.slug if tenant else "",
        before=before or {},
        after=_told(bulk) | dict(after or {}),
        reason=reason or bulk.reason,
    )
    record(by, change)


def _told(bulk: BulkAction) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": bulk.kind, "state": bulk.state, "matched": bulk.matched}
    told["chosen"] = bulk.chosen or ALL
    if bulk.from_start:
        told["from"] = "start"
    if bulk.ended_at is not None:
        told |= {"done": bulk.done, "skipped": bulk.skipped}
    return told


def _only_tenant(bulk: BulkAction) -> Tenant | None:
    """Whose letters all of these are: that tenant's own people may read of it. None: of several tenants, or none."""
    first = bulk.members.order_by("pk").values_list("letter__tenant_id", flat=True).first()
    if first is None or bulk.members.exclude(letter__tenant_id=first).exists():
        return None
    return Tenant.objects.filter(pk=first).first()
