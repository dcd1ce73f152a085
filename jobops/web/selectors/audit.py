"""One page of the audit, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from jobops.audit.changes import Changed, in_one_line
from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry
from jobops.audit.reading import Rows
from jobops.web import audit_own_words, audit_words
from jobops.web.audit_access import PEOPLE_KINDS, asked, colleagues_among, entries_visible_to
from jobops.web.audit_filter_words import MOST, Field, filter_fields
from jobops.web.audit_links import Links, links_for
from jobops.web.audit_words import MOST_COUNTED
from jobops.web.paging import Slice
from jobops.web.selectors.audit_folds import Fold, audit_folds
from tenants.access import AnyUser, can, sees_all, tenants_visible_to
from tenants.roles import Action


@dataclass(frozen=True, slots=True)
class AuditLine:
    """A row in words. ``url`` and ``tenant_url`` are empty where there is no page for this person.

    ``made``: of what is new, how it was made, in one line; of anything else there are ``changes``.
    Of the rows of one act it leads to all of them, one by one; ``tenants``: of how many they are.
    """

    entry: AuditEntry
    who: str
    head: str
    target: str
    tail: str
    url: str
    tenant_url: str
    request_query: str
    reason: str
    made: str = ""
    changes: Sequence[Changed] = ()
    tenants: int = 1


@dataclass(frozen=True, slots=True)
class AuditPage:
    """One page of rows. ``count`` and ``by_people``: of what the filter asks for or, without one, of the last 24
    hours; they stop at ``MOST_COUNTED``."""

    staff: bool
    lines: Sequence[AuditLine]
    slice: Slice[AuditEntry]
    count: int
    by_people: int


def audit_page(user: AnyUser, wanted: AuditFilter, params: Mapping[str, str]) -> AuditPage:
    """The page that ``params`` asks for, the newest rows first, in a constant number of queries."""
    parts = asked(user, wanted)
    folds, found = audit_folds(parts, wanted, params)
    staff = sees_all(user)
    people_ids = {row.user_id for row in found.rows if row.user_id}
    named = frozenset() if staff else colleagues_among(user, people_ids)
    links = links_for(user, found.rows)
    counted = [entries_visible_to(user).filter(at__gte=_a_day_ago())] if wanted.is_empty else parts
    people = [part.filter(actor_kind=AuditEntry.Kind.PERSON) for part in counted]
    return AuditPage(
        staff,
        [
            _folded(
                fold,
                _line(fold.entry, links)
                if staff
                else _own_line(fold.entry, links, by_staff=fold.entry.user_id not in named),
                wanted,
                staff=staff,
            )
            for fold in folds
        ],
        found,
        _count(counted),
        _count(people),
    )


def _a_day_ago() -> datetime:
    return timezone.now() - timedelta(days=1)


def _count(parts: Sequence[Rows]) -> int:
    total = 0
    for part in parts:
        total += part.order_by()[: MOST_COUNTED + 1].count()
    return min(total, MOST_COUNTED + 1)


def _folded(fold: Fold, line: AuditLine, wanted: AuditFilter, *, staff: bool) -> AuditLine:
    """The line of its newest row as the line of all of them; what they have in common besides is their state."""
    if fold.count == 1:
        return line
    head, target, tail = (audit_words if staff else audit_own_words).many_words(fold.entry, fold.count)
    return replace(
        line,
        head=head,
        target=target,
        tail=tail,
        url=f"{reverse('audit')}{fold.each_query(wanted, who=staff)}",
        tenant_url=line.tenant_url if fold.tenants == 1 else "",
        made="",
        changes=[change for change in line.changes if change.name in ("state", "")],
        tenants=fold.tenants,
    )


def _line(entry: AuditEntry, links: Links) -> AuditLine:
    head, target, tail = audit_words.done_words(entry)
    changes = audit_words.changes_in(entry)
    return AuditLine(
        entry,
        audit_words.who_words(entry),
        head,
        target,
        tail,
        links.of(entry) if target else "",
        links.tenant(entry),
        urlencode({"request": entry.request_id}),
        entry.reason,
        made="" if entry.before else in_one_line(changes),
        changes=changes if entry.before else (),
    )


def _own_line(entry: AuditEntry, links: Links, *, by_staff: bool) -> AuditLine:
    head, target, tail = audit_own_words.done_words(entry, links.job_types)
    return AuditLine(
        entry,
        audit_own_words.who_words(entry, by_staff=by_staff),
        head,
        target,
        tail,
        links.of(entry) if target else "",
        links.tenant(entry),
        "",
        audit_own_words.reason_words(entry, by_staff=by_staff),
        changes=audit_own_words.changes_in(entry),
    )


def audit_form(user: AnyUser, params: Mapping[str, str], faults: Mapping[str, str]) -> list[Field]:
    """The fields of the filter for this person."""
    slugs = tenants_visible_to(user).order_by("slug").values_list("slug", flat=True)[: MOST + 1]
    hidden = () if can(user, Action.SEE_AUDIT_OF_PEOPLE) else PEOPLE_KINDS
    return filter_fields(params, faults, list(slugs), staff=sees_all(user), hidden=hidden)
