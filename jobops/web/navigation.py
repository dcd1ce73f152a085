"""Which pages a person can go to. Only pages that exist, and only those that answer this person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse

from jobops.alerts.reading import Counts
from jobops.web.audit_access import reads_audit
from tenants.access import AnyUser, can, sees_all, staff_roles, tenants_visible_to
from tenants.models import Membership
from tenants.roles import Action


@dataclass(frozen=True, slots=True)
class Entry:
    """One link of the top bar; ``current``: the person is on that page or below it; ``count``: of what waits there.

    ``alarms``: how many alerts are firing, which nobody has yet; None elsewhere. ``loud``: there is one.
    """

    label: str
    url: str
    current: bool
    count: int | None = None
    alarms: int | None = None
    loud: bool = False


@dataclass(frozen=True, slots=True)
class Navigation:
    """The top bar: where to go, who is signed in as what, and the one tenant they work for, if it is one."""

    entries: Sequence[Entry]
    name: str
    initial: str
    roles: str
    only: str = ""


def navigation_of(user: User, path: str, undrained: int, alarms: Counts | None = None) -> Navigation:
    """The top bar for this person on this page; ``undrained``: how many letters somebody still has to deal with;
    ``alarms``: the open alerts, for staff."""
    name = user.get_full_name() or user.get_username()
    own = [] if sees_all(user) else list(tenants_visible_to(user).values_list("slug", flat=True)[:2])
    pages = _staff_pages(user) if sees_all(user) else _own_pages(user, own)
    home = reverse("overview")
    letters, alerts = reverse("dlq"), reverse("alerts")
    told = alarms or Counts()
    entries = [
        Entry(
            label,
            url,
            current=path == url or (url != home and path.startswith(url)),
            count=undrained if url == letters else None,
            alarms=told.firing if url == alerts else None,
            loud=bool(told.firing),
        )
        for label, url in pages
    ]
    return Navigation(entries, name, name[:1].upper(), _roles(user), own[0] if len(own) == 1 else "")


def _staff_pages(user: AnyUser) -> list[tuple[str, str]]:
    pages = [("Overview", reverse("overview")), ("Dead letters", reverse("dlq")), ("Batches", reverse("batches"))]
    pages.append(("Tenants", reverse("tenants")))
    if can(user, Action.SEE_FLEET):
        pages.append(("Alerts", reverse("alerts")))
        pages += [("Workers", reverse("workers")), ("Limits", reverse("limits")), ("Catalog", reverse("catalog"))]
        pages.append(("Settings", reverse("settings")))
    if can(user, Action.SEE_AUDIT):
        pages.append(("Audit", reverse("audit")))
    if can(user, Action.SEE_RQ):
        pages.append(("RQ", reverse("django_rq:home")))
    if settings.JOBOPS_DEMO:
        pages.append(("Demo", reverse("demo")))
    return pages


def _own_pages(user: AnyUser, own: Sequence[str]) -> list[tuple[str, str]]:
    pages = [("Overview", reverse("overview"))]
    if len(own) == 1:
        pages.append(("Our jobs", reverse("tenant", args=[own[0]])))
    elif own:
        pages.append(("Our tenants", reverse("tenants")))
    if own:
        pages += [("Did not work", reverse("dlq")), ("Batches", reverse("batches"))]
    if reads_audit(user):
        pages.append(("Audit", reverse("audit")))
    return pages


def _roles(user: User) -> str:
    staff = sorted(staff_roles(user))
    if staff:
        return ", ".join(staff)
    rows = Membership.objects.filter(user_id=user.pk).values_list("role", flat=True).distinct()
    return ", ".join(sorted(f"tenant {role}" for role in rows)) or "no role yet"
