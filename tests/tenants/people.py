"""People and tenants for tests: one person of each role."""

from __future__ import annotations

from django.contrib.auth.models import User

from tenants.models import Membership, Tenant
from tenants.roles import Role
from tenants.staff import membership_set, staff_role_give

MEMBERS = {Role.TENANT_ADMIN: Membership.Role.ADMIN, Role.TENANT_VIEWER: Membership.Role.VIEWER}


def person(role: Role | None = None, tenant: Tenant | None = None, name: str = "") -> User:
    """A new user with this role (None: with none at all), in ``tenant`` if it is a tenant's role."""
    user = User.objects.create_user(name or f"{role or 'stranger'}-{User.objects.count()}")
    if role is Role.SUPERUSER:
        User.objects.filter(pk=user.pk).update(is_superuser=True)
    elif role in MEMBERS:
        assert tenant is not None
        membership_set(user=user, tenant=tenant, role=MEMBERS[role], by="test")
    elif role is not None:
        staff_role_give(user=user, role=role, by="test")
    return again(user)


def again(user: User) -> User:
    """The same person at the next request: nothing remembered."""
    return User.objects.get(pk=user.pk)


def new_tenant(slug: str, **fields: object) -> Tenant:
    """A row, written past the services: for tests of what only reads."""
    return Tenant.objects.create(slug=slug, name=slug.title(), **fields)
