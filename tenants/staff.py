"""Giving and taking roles. Each change is in the audit; what changes nothing is not."""

from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet

from jobops.audit import recording
from tenants.access import AnyUser
from tenants.models import Membership, Tenant
from tenants.recorded import record_membership
from tenants.roles import STAFF_GROUPS, Role


def staff_role_give(*, user: User, role: Role, by: AnyUser | str) -> None:
    """Make a person an operator, on call, or a staff viewer; twice is as once."""
    _set(user, role, by, given=True)


def staff_role_take(*, user: User, role: Role, by: AnyUser | str) -> None:
    """Take that role from a person; who does not have it stays as they are."""
    _set(user, role, by, given=False)


def membership_set(*, user: User, tenant: Tenant, role: Membership.Role, by: AnyUser | str) -> Membership:
    """Make a person admin or viewer of a tenant, whatever they were in it before."""
    with transaction.atomic():
        was = _members(user, tenant).first()
        membership, _ = Membership.objects.update_or_create(user=user, tenant=tenant, defaults={"role": role})
        record_membership(membership, by, was.role if was else "", membership.role)
    return membership


def membership_end(*, user: User, tenant: Tenant, by: AnyUser | str) -> None:
    """From now on the tenant does not exist for this person."""
    with transaction.atomic():
        membership = _members(user, tenant).first()
        if membership is not None:
            record_membership(membership, by, membership.role, "")
            membership.delete()


def _members(user: User, tenant: Tenant) -> QuerySet[Membership]:
    return Membership.objects.select_for_update().filter(user=user, tenant=tenant)


def _set(user: User, role: Role, by: AnyUser | str, *, given: bool) -> None:
    with transaction.atomic():
        group = _group(role)
        before = _groups(user)
        user.groups.add(group) if given else user.groups.remove(group)
        was, now = recording.difference({"groups": before}, {"groups": _groups(user)})
        if was:
            recording.record(by, recording.Change("user.set", "user", user.get_username(), before=was, after=now))


def _groups(user: User) -> list[str]:
    return sorted(user.groups.values_list("name", flat=True))


def _group(role: Role) -> Group:
    if role not in STAFF_GROUPS:
        raise ValueError(f"role: {role!r} is no staff role; those are {', '.join(STAFF_GROUPS)}")
    return Group.objects.get_or_create(name=role.value)[0]
