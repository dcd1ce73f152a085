"""The only door to rows of the audit: which of them exist for a person."""

from __future__ import annotations

from collections.abc import Collection

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet

from jobops.audit import reading
from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry
from jobops.audit.reading import Rows
from tenants.access import AnyUser, can, sees_all, tenants_visible_to
from tenants.models import Membership, Tenant
from tenants.roles import Action

PEOPLE_KINDS = ("user", "membership", "lockout", "audit")
"""Kinds of targets whose rows are about people and grants."""

PEOPLE_ACTIONS = ("group.create", "group.set", "group.delete")
"""What is done to a group of people; all else that is done to a group is about dead letters of one cause."""

_ABOUT_PEOPLE = Q(target_kind__in=PEOPLE_KINDS) | Q(action__in=PEOPLE_ACTIONS)


def entries_visible_to(user: AnyUser) -> Rows:
    """The rows that exist for this person: all, or all but those about people, or their own tenants' for its admins.

    Raises ``PermissionDenied`` for who may read none.
    """
    rows: Rows = AuditEntry.objects.all()
    allowed = can(user, Action.SEE_AUDIT)
    if allowed:
        return rows if can(user, Action.SEE_AUDIT_OF_PEOPLE) else rows.exclude(_ABOUT_PEOPLE)
    own = _own(user)
    if not own:
        raise PermissionDenied(allowed.reason if sees_all(user) else "Only a tenant's admins may read its audit.")
    return rows.filter(tenant_id__in=[tenant.pk for tenant in own])


def reads_audit(user: AnyUser) -> bool:
    """Whether there is an audit for this person."""
    return bool(can(user, Action.SEE_AUDIT)) or bool(_own(user))


def asked(user: AnyUser, wanted: AuditFilter) -> list[Rows]:
    """The rows this person asks for. Raises as ``entries_visible_to``."""
    rows = entries_visible_to(user)
    if wanted.who and not sees_all(user):
        # Whether any other name is that of a command or a person of ours is nothing they can find out.
        rows = rows.filter(actor_kind=AuditEntry.Kind.PERSON, user_id__in=_colleagues(user))
    ids: list[int] = []
    if wanted.tenant:
        ids = list(tenants_visible_to(user).filter(slug=wanted.tenant).values_list("pk", flat=True))
        ids += reading.former_tenants(wanted.tenant) if sees_all(user) else []
    return reading.narrowed(rows, wanted, ids)


def colleagues_among(user: AnyUser, ids: Collection[int]) -> frozenset[int]:
    """Those of these people who are colleagues of one of a tenant's people: members now. All others are our team to
    them, as a role or an account of ours may have ended since."""
    return frozenset(_colleagues(user).filter(user_id__in=ids)) if ids else frozenset()


def _colleagues(user: AnyUser) -> QuerySet[Membership, int]:
    members = Membership.objects.filter(tenant__in=tenants_visible_to(user))
    return members.order_by().values_list("user_id", flat=True)


def _own(user: AnyUser) -> list[Tenant]:
    """The tenants whose audit a person may read as one of their people."""
    mine = Tenant.objects.filter(memberships__user_id=user.pk) if user.is_authenticated else Tenant.objects.none()
    return [tenant for tenant in mine if can(user, Action.SEE_AUDIT, tenant)]
