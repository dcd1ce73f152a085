"""Which pauses hold a job, by whom, since when and why: Redis says that they hold, the database says the rest."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Q

from jobops.engine.why_facts import WhyFacts
from jobops.limits.models import Pause
from jobops.runtime.why_records import Kind, Link, Reason
from tenants.models import Tenant
from tenants.policy import belongs

NOBODY = "nobody wrote down by whom"
_GATES = {Pause.Target.TYPE: Kind.TYPE_PAUSED, Pause.Target.RESOURCE: Kind.RESOURCE_PAUSED}


def pauses(facts: WhyFacts, slug: str, tenant_uid: str) -> Iterator[Reason]:
    """Every pause that is in force for the job at this moment."""
    targets: list[tuple[Pause.Target, str]] = [(Pause.Target.ALL, "")] if facts.paused else []
    targets += [
        (Pause.Target.TYPE, gate.job_type) if gate.job_type else (Pause.Target.RESOURCE, gate.name)
        for gate in facts.gates
        if gate.paused
    ]
    rows = _rows(targets) if targets else {}
    for target, name in targets:
        yield _reason(target, name, rows.get((target, name)))
    if facts.tenant is not None and facts.tenant.paused:
        yield _of_tenant(slug, tenant_uid)


def _rows(targets: list[tuple[Pause.Target, str]]) -> dict[tuple[str, str], Pause]:
    wanted = Q()
    for target, name in targets:
        wanted |= Q(target=target, name=name)
    return {(row.target, row.name): row for row in Pause.objects.filter(wanted)}


def _reason(target: Pause.Target, name: str, row: Pause | None) -> Reason:
    what = {
        Pause.Target.ALL: "Everything is paused",
        Pause.Target.TYPE: f"The job type {name} is paused",
        Pause.Target.RESOURCE: f"The resource {name} is paused",
    }[target]
    kind = _GATES.get(target, Kind.PAUSED)
    link = Link(target.value, name)
    if row is None:
        return Reason(kind, f"{what}; {NOBODY}.", name=name, link=link)
    return Reason(
        kind, f"{what} by {row.paused_by}{_why(row.reason)}.", since=row.paused_at, by=row.paused_by, note=row.reason,
        name=name, link=link,
    )  # fmt: skip


def _of_tenant(slug: str, tenant_uid: str) -> Reason:
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None or not belongs(tenant_uid, tenant) or not tenant.paused or not tenant.paused_by:
        return Reason(
            Kind.TENANT_PAUSED, f"Its tenant {slug} is paused; {NOBODY}.", name=slug, link=Link("tenant", slug)
        )
    return Reason(
        Kind.TENANT_PAUSED,
        f"Its tenant {slug} is paused by {tenant.paused_by}{_why(tenant.pause_reason)}.",
        since=tenant.paused_at,
        by=tenant.paused_by,
        by_staff=tenant.paused_by_staff,
        note=tenant.pause_reason,
        name=slug,
        link=Link("tenant", slug),
    )


def _why(reason: str) -> str:
    return f": “{reason.rstrip('.')}”" if reason else ""
