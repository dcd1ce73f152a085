"""Where the rows of the audit lead: to pages that are there, and that this person may open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model, QuerySet
from django.urls import reverse

from dlq.access import get_bulks, groups_visible_to, letters_visible_to
from dlq.models import RuleSet
from jobops.alerts.models import Alert, Channel
from jobops.audit.models import AuditEntry
from jobops.web.audit_access import PEOPLE_ACTIONS
from jobops.web.places import bulk_url
from jobops.web.selectors.batches import batches_visible_to
from jobops.web.tags import JOB_ID
from tenants.access import AnyUser, can, tenants_visible_to
from tenants.models import Team
from tenants.roles import Action

Place = tuple[str, str]
"""What was changed: its kind and its name in the audit."""


@dataclass(frozen=True, slots=True)
class Links:
    """What of the rows' targets this person may open. ``tenants``: id → slug; ``job_types``: of letters, by their
    number as the audit writes it; ``pages``: target → the address of its page."""

    tenants: Mapping[int, str] = field(default_factory=dict)
    job_types: Mapping[str, str] = field(default_factory=dict)
    pages: Mapping[Place, str] = field(default_factory=dict)

    def tenant(self, entry: AuditEntry) -> str:
        """The page of the tenant that the row concerns, or nothing."""
        slug = self.tenants.get(entry.tenant_id) if entry.tenant_id else None
        return reverse("tenant", args=[slug]) if slug else ""

    def of(self, entry: AuditEntry) -> str:
        """The page of what was changed, or nothing. A job's says itself when nothing is kept of it any more."""
        kind, target = entry.target_kind, entry.target_id
        # What is done to a group of accounts: its name may be the number of a cause.
        if entry.action in PEOPLE_ACTIONS:
            return ""
        if kind == "letter":
            return reverse(kind, args=[int(target)]) if target in self.job_types else ""
        if kind == "tenant":
            return self.tenant(entry) if self.tenants.get(entry.tenant_id or 0) == target else ""
        if kind == "job":
            return reverse(kind, args=[target]) if JOB_ID.fullmatch(target) else ""
        return self.pages.get((kind, target), "")


def links_for(user: AnyUser, rows: Sequence[AuditEntry]) -> Links:
    """What of these rows this person may open: at most one query for each kind of target."""
    slugs = {row.tenant_slug for row in rows if row.tenant_slug}
    targets: dict[str, set[str]] = {}
    for row in rows:
        targets.setdefault(row.target_kind, set()).add(row.target_id)
    letters = _numbers(targets.get("letter", ()))
    known = letters_visible_to(user).filter(pk__in=letters).values_list("pk", "job_type") if letters else []
    pages: dict[Place, str] = {}
    for kind, names in targets.items():
        if kind in _PAGES:
            pages |= {(kind, name): url for name, url in _PAGES[kind](user, names).items()}
    return Links(
        dict(tenants_visible_to(user).filter(slug__in=slugs).values_list("pk", "slug")) if slugs else {},
        {str(pk): job_type for pk, job_type in known},
        pages,
    )


Names = Iterable[str]
Pages = Callable[[AnyUser, Names], Mapping[str, str]]


def _numbered(page: str, visible: Callable[[AnyUser], QuerySet[Any]]) -> Pages:
    """Pages by number, of what this person sees."""

    def pages(user: AnyUser, names: Names) -> Mapping[str, str]:
        numbers = _numbers(names)
        found = visible(user).filter(pk__in=numbers).order_by("pk").values_list("pk", flat=True) if numbers else ()
        return {str(pk): reverse(page, args=[pk]) for pk in found}

    return pages


def _named(page: str, model: type[Model]) -> Pages:
    """Pages of what the audit calls by its name; for staff."""

    def pages(user: AnyUser, names: Names) -> Mapping[str, str]:
        found: QuerySet[Any] = _for_staff(model)(user).filter(name__in=set(names)).order_by("pk")
        return {name: reverse(page, args=[pk]) for pk, name in found.values_list("pk", "name")}

    return pages


def _list(page: str) -> Pages:
    """One page for all of a kind, which have none of their own; for staff."""
    return lambda user, names: {name: reverse(page) for name in names} if can(user, Action.SEE_FLEET) else {}


def _for_staff(model: type[Model]) -> Callable[[AnyUser], QuerySet[Any]]:
    return lambda user: model._default_manager.all() if can(user, Action.SEE_FLEET) else model._default_manager.none()


def _batches(user: AnyUser, names: Names) -> Mapping[str, str]:
    found = batches_visible_to(user).filter(pk__in=set(names)).values_list("pk", flat=True)
    return {pk: reverse("batch", args=[pk]) for pk in found}


def _bulks(user: AnyUser, names: Names) -> Mapping[str, str]:
    numbers = _numbers(names)
    return {str(bulk.pk): bulk_url(bulk) for bulk in get_bulks(user, numbers)} if numbers else {}


_PAGES: Mapping[str, Pages] = {
    "batch": _batches,
    "bulk": _bulks,
    "group": _numbered("group", groups_visible_to),
    "rules": _numbered("rules-version", _for_staff(RuleSet)),
    "alert": _numbered("alert", _for_staff(Alert)),
    "team": _named("team", Team),
    "channel": _named("channel", Channel),
    "silence": _list("silences"),
    "alert_rule": _list("alert-rules"),
    "discard_reason": _list("discard-reasons"),
}


def _numbers(names: Names) -> set[int]:
    return {int(name) for name in names if name.isascii() and name.isdigit() and len(name) < 19}
