"""Giving and taking roles."""

from django.contrib.auth.models import Group, User

from tenants.models import Membership, Tenant
from tenants.roles import STAFF_GROUPS, Role


def staff_role_give(*, user: User, role: Role) -> None:
    """Make a person an operator, on call, or a staff viewer; twice is as once."""
    user.groups.add(_group(role))


def staff_role_take(*, user: User, role: Role) -> None:
    """Take that role from a person; who does not have it stays as they are."""
    user.groups.remove(_group(role))


def membership_set(*, user: User, tenant: Tenant, role: Membership.Role) -> Membership:
    """Make a person admin or viewer of a tenant, whatever they were in it before."""
    membership, _ = Membership.objects.update_or_create(user=user, tenant=tenant, defaults={"role": role})
    return membership


def membership_end(*, user: User, tenant: Tenant) -> None:
    """From now on the tenant does not exist for this person."""
    Membership.objects.filter(user=user, tenant=tenant).delete()


def _group(role: Role) -> Group:
    if role not in STAFF_GROUPS:
        raise ValueError(f"role: {role!r} is no staff role; those are {', '.join(STAFF_GROUPS)}")
    return Group.objects.get_or_create(name=role.value)[0]
