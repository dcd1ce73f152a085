"""One page of the audit, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from jobops.audit import reading
from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry
from jobops.audit.reading import Rows
from jobops.web import audit_words
from jobops.web.audit_access import asked, entries_visible_to
from jobops.web.audit_words import MOST_COUNTED, Changed
from jobops.web.paging import SIZE, Slice, id_cursor
from jobops.web.tags import JOB_ID
from tenants.access import AnyUser, sees_all, tenants_visible_to
from tenants.roles import STAFF_GROUPS


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A row in words. ``url`` and ``tenant_url`` are empty where there is no page for this person."""

    entry: AuditEntry
    who: str
    head: str
    target: str
    tail: str
    url: str
    tenant_url: str
    request_query: str
    changes: Sequence[Changed]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """One page of rows; ``count`` and ``by_people`` are of the last 24 hours, and stop at ``MOST_COUNTED``."""

    staff: bool
    lines: Sequence[AuditLine]
    slice: Slice[AuditEntry]
    count: int
    by_people: int


def audit_page(user: AnyUser, wanted: AuditFilter, params: Mapping[str, str]) -> AuditPage:
    """The page that ``params`` asks for, the newest rows first, in a constant number of queries."""
    found = _slice(asked(user, wanted), wanted, params)
    staff = sees_all(user)
    ours = frozenset() if staff else _staff_among({entry.user_id for entry in found.rows if entry.user_id})
    slugs = {entry.tenant_slug for entry in found.rows if entry.tenant_slug}
    tenants = dict(tenants_visible_to(user).filter(slug__in=slugs).values_list("pk", "slug")) if slugs else {}
    day = entries_visible_to(user).filter(at__gte=timezone.now() - timedelta(days=1)).order_by()
    people = day.filter(actor_kind=AuditEntry.Kind.PERSON)
    return AuditPage(
        staff,
        [_line(entry, tenants, staff=staff, by_staff=entry.user_id in ours) for entry in found.rows],
        found,
        day[: MOST_COUNTED + 1].count(),
        people[: MOST_COUNTED + 1].count(),
    )


def _slice(parts: list[Rows], wanted: AuditFilter, params: Mapping[str, str]) -> Slice[AuditEntry]:
    after, before = id_cursor(params, "after"), id_cursor(params, "before")
    if before and not after:
        found = reading.oldest(parts, SIZE + 1, above=before)
        rows, more = found[:SIZE][::-1], len(found) > SIZE
        has_newer, has_older = more, bool(rows)
    else:
        found = reading.newest(parts, SIZE + 1, below=after)
        rows, more = found[:SIZE], len(found) > SIZE
        has_newer, has_older = bool(after and rows), more

    def link(name: str, entry: AuditEntry) -> str:
        query = wanted.as_query()
        return f"{query}{'&' if query else '?'}{name}={entry.pk}"

    return Slice(rows, link("before", rows[0]) if has_newer else "", link("after", rows[-1]) if has_older else "")


def _line(entry: AuditEntry, tenants: Mapping[int, str], *, staff: bool, by_staff: bool) -> AuditLine:
    head, target, tail = audit_words.done_words(entry)
    slug = tenants.get(entry.tenant_id) if entry.tenant_id else None
    return AuditLine(
        entry,
        audit_words.who_words(entry, staff=staff, by_staff=by_staff),
        head,
        target,
        tail,
        _url(entry, slug) if target else "",
        reverse("tenant", args=[slug]) if slug else "",
        urlencode({"request": entry.request_id}),
        audit_words.changes_of(entry.before, entry.after),
    )


def _url(entry: AuditEntry, slug: str | None) -> str:
    """The page of what was changed; a deleted tenant's things have none that leads anywhere for sure."""
    kind, target = entry.target_kind, entry.target_id
    if kind in ("letter", "bulk") and target.isascii() and target.isdigit():
        return reverse(kind, args=[int(target)])
    if kind == "tenant" and slug == target:
        return reverse("tenant", args=[target])
    if kind == "job" and JOB_ID.fullmatch(target):
        return reverse("job", args=[target])
    return ""


def _staff_among(ids: set[int]) -> frozenset[int]:
    """Those of these people who are ours."""
    ours = Q(is_superuser=True) | Q(groups__name__in=STAFF_GROUPS)
    return frozenset(User.objects.filter(ours, pk__in=ids).values_list("pk", flat=True)) if ids else frozenset()


def tenant_choices(user: AnyUser, most: int = 200) -> list[str]:
    """Slugs for the filter's list of suggestions."""
    return list(tenants_visible_to(user).order_by("slug").values_list("slug", flat=True)[:most])
