"""Isolation: what is foreign does not exist."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from tenants.access import get_tenant, sees_all, tenants_visible_to
from tenants.models import Membership
from tenants.roles import Role
from tenants.staff import membership_end, membership_set, staff_role_give, staff_role_take
from tests.tenants.people import again, new_tenant, person

pytestmark = pytest.mark.django_db

STAFF = (Role.SUPERUSER, Role.OPERATOR, Role.ON_CALL, Role.STAFF_VIEWER)


def test_staff_see_every_tenant() -> None:
    new_tenant("acme"), new_tenant("globex")
    for role in STAFF:
        user = person(role)
        assert sees_all(user)
        assert {tenant.slug for tenant in tenants_visible_to(user)} == {"acme", "globex"}


def test_members_see_their_own_tenants_only() -> None:
    acme, globex = new_tenant("acme"), new_tenant("globex")
    new_tenant("initech")
    user = person(Role.TENANT_VIEWER, acme)
    membership_set(user=user, tenant=globex, role=Membership.Role.ADMIN, by="test")
    user = again(user)
    assert not sees_all(user)
    assert [tenant.slug for tenant in tenants_visible_to(user)] == ["acme", "globex"]
    assert get_tenant(user, "globex") == globex


def test_strangers_inactive_and_anonymous_people_see_none() -> None:
    acme = new_tenant("acme")
    fired = person(Role.TENANT_ADMIN, acme)
    fired.is_active = False
    for user in (person(), fired, AnonymousUser()):
        assert not tenants_visible_to(user).exists()


@pytest.mark.parametrize("slug", ["globex", "nobody", "", "a\0b", "%00", "ACME", "../acme", "a" * 5000])
def test_foreign_and_missing_tenants_answer_alike(slug: str) -> None:
    """SE-05: a foreign id looks missing, whatever is asked for."""
    acme = new_tenant("acme")
    new_tenant("globex")
    user = person(Role.TENANT_ADMIN, acme)
    with pytest.raises(Http404) as refusal:
        get_tenant(user, slug)
    assert str(refusal.value) == "No such tenant."


def test_is_staff_alone_opens_nothing() -> None:
    """SE-04: Django's own staff flag lets a person into the admin's sign-in, and nowhere else."""
    new_tenant("acme")
    user = person()
    user.is_staff = True
    user.save()
    assert not tenants_visible_to(again(user)).exists()


def test_a_role_that_is_taken_away_is_gone_at_the_next_request() -> None:
    acme = new_tenant("acme")
    user = person(Role.OPERATOR)
    staff_role_give(user=user, role=Role.OPERATOR, by="test")  # twice is as once
    staff_role_take(user=user, role=Role.OPERATOR, by="test")
    assert not sees_all(again(user))
    member = person(Role.TENANT_ADMIN, acme)
    membership_end(user=member, tenant=acme, by="test")
    assert not tenants_visible_to(again(member)).exists()


def test_only_staff_roles_can_be_given_as_staff_roles() -> None:
    with pytest.raises(ValueError, match="is no staff role"):
        staff_role_give(user=person(), role=Role.SUPERUSER, by="test")
