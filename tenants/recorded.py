"""What the audit is told of tenants and of who belongs to them. Called in the transaction of the change."""

from collections.abc import Mapping
from typing import Any

from jobops.audit import recording
from tenants.access import AnyUser
from tenants.models import Membership, Tenant

# Who paused it, when and why is in the row of the pause.
_FACTS = (
    "name", "weight", "cap", "lane_caps", "rate", "depth_limit", "intake_closed", "paused", "may_pause", "may_replay",
)  # fmt: skip


def facts_of(tenant: Tenant) -> dict[str, Any]:
    """What of a tenant people change, as plain values."""
    return {name: getattr(tenant, name) for name in _FACTS}


def record_tenant(
    action: str,
    tenant: Tenant,
    by: AnyUser | str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    reason: str = "",
) -> None:
    """Add the row of a change from ``before`` to ``after``; none if nothing changed."""
    was, now = recording.difference(before, after)
    if was or now:
        change = recording.Change(action, "tenant", tenant.slug, tenant.pk, tenant.slug, was, now, reason)
        recording.record(by, change)


def record_membership(membership: Membership, by: AnyUser | str, was: str, now: str) -> None:
    """Add the row of a person's role in a tenant going from ``was`` to ``now`` (empty: none); none if they are one."""
    if was == now:
        return
    tenant = membership.tenant
    change = recording.Change(
        "membership.set" if now else "membership.end",
        "membership",
        f"{membership.user.get_username()} in {tenant.slug}",
        tenant.pk,
        tenant.slug,
        {"role": was or None},
        {"role": now or None},
    )
    recording.record(by, change)
