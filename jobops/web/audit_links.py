"""Where the rows of the audit lead: to pages that are there, and that this person may open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.urls import reverse

from dlq.access import get_bulks, letters_visible_to
from jobops.audit.models import AuditEntry
from jobops.web.selectors.batches import batches_visible_to
from jobops.web.tags import JOB_ID
from tenants.access import AnyUser, tenants_visible_to


@dataclass(frozen=True, slots=True)
class Links:
    """What of the rows' targets this person may open. ``tenants``: id → slug; ``job_types``: of letters, by their
    number as the audit writes it; ``bulks``: numbers of bulk actions; ``batches``: ids of batches."""

    tenants: Mapping[int, str] = field(default_factory=dict)
    job_types: Mapping[str, str] = field(default_factory=dict)
    bulks: frozenset[str] = frozenset()
    batches: frozenset[str] = frozenset()

    def tenant(self, entry: AuditEntry) -> str:
        """The page of the tenant that the row concerns, or nothing."""
        slug = self.tenants.get(entry.tenant_id) if entry.tenant_id else None
        return reverse("tenant", args=[slug]) if slug else ""

    def of(self, entry: AuditEntry) -> str:
        """The page of what was changed, or nothing. A job's says itself when nothing is kept of it any more."""
        kind, target = entry.target_kind, entry.target_id
        if (kind == "letter" and target in self.job_types) or (kind == "bulk" and target in self.bulks):
            return reverse(kind, args=[int(target)])
        if kind == "batch" and target in self.batches:
            return reverse(kind, args=[target])
        if kind == "tenant":
            return self.tenant(entry) if self.tenants.get(entry.tenant_id or 0) == target else ""
        return reverse("job", args=[target]) if kind == "job" and JOB_ID.fullmatch(target) else ""


def links_for(user: AnyUser, rows: Sequence[AuditEntry]) -> Links:
    """What of these rows this person may open, in few queries."""
    slugs = {row.tenant_slug for row in rows if row.tenant_slug}
    letters, bulks = _numbers(rows, "letter"), _numbers(rows, "bulk")
    batches = {row.target_id for row in rows if row.target_kind == "batch"}
    known = letters_visible_to(user).filter(pk__in=letters).values_list("pk", "job_type") if letters else []
    return Links(
        dict(tenants_visible_to(user).filter(slug__in=slugs).values_list("pk", "slug")) if slugs else {},
        {str(pk): job_type for pk, job_type in known},
        frozenset(str(bulk.pk) for bulk in get_bulks(user, bulks)) if bulks else frozenset(),
        frozenset(batches_visible_to(user).filter(pk__in=batches).values_list("pk", flat=True))
        if batches
        else frozenset(),
    )


def _numbers(rows: Sequence[AuditEntry], kind: str) -> set[int]:
    targets = {row.target_id for row in rows if row.target_kind == kind}
    return {int(target) for target in targets if target.isascii() and target.isdigit() and len(target) < 19}
