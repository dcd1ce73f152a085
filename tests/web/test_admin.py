"""Django's admin: superusers only, and every change made there is in the audit."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from jobops.audit.models import AuditEntry
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tests.web.matrix import patterns
from tests.web.world import World

PAGES = (
    "/admin/",
    "/admin/auth/user/",
    "/admin/auth/group/",
    "/admin/tenants/tenant/",
    "/admin/tenants/membership/",
    "/admin/dlq/deadletter/",
    "/admin/axes/accessattempt/",
    "/admin/axes/accesslog/",
    "/admin/axes/accessfailurelog/",
    "/admin/password_change/",
)
USER = {"username": "mia", "is_active": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


@pytest.fixture
def root(world: World, acme: Tenant) -> Client:
    client = world.client(Role.SUPERUSER)
    AuditEntry.objects.all()._raw_delete("default")
    return client


@pytest.fixture
def mia(acme: Tenant) -> User:
    return User.objects.create_user("mia", password="correct horse")


def rows() -> list[tuple[str, str, Any, Any]]:
    return list(AuditEntry.objects.order_by("id").values_list("action", "target_id", "before", "after"))


def test_superusers_see_every_page_and_nobody_else_any(world: World, acme: Tenant) -> None:
    for role in (None, *Role):
        client = world.client(role, acme)
        # Permissions on models and the mark "staff" open nothing.
        user = User.objects.latest("pk")
        if role is not Role.SUPERUSER:
            User.objects.filter(pk=user.pk).update(is_staff=True)
            user.user_permissions.set(Permission.objects.all())
        for page in PAGES:
            assert client.get(page).status_code == (200 if role is Role.SUPERUSER else 403), (role, page)
    for page in PAGES:
        assert Client().get(page)["Location"].startswith("/login/")


def test_nobody_else_makes_themselves_a_superuser(world: World, acme: Tenant) -> None:
    client = world.client(Role.OPERATOR)
    user = User.objects.latest("pk")
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    data = USER | {"username": user.username, "is_superuser": "on"}
    assert client.post(f"/admin/auth/user/{user.pk}/change/", data).status_code == 403
    assert client.post("/admin/tenants/membership/add/", {"user": user.pk, "tenant": acme.pk}).status_code == 403
    assert not User.objects.get(pk=user.pk).is_superuser


def test_what_an_account_may_do(root: Client, mia: User) -> None:
    operators, grant = Group.objects.get(name="operator"), Permission.objects.get(codename="see_payload")
    page = f"/admin/auth/user/{mia.pk}/change/"
    data = USER | {"groups": [operators.pk], "user_permissions": [grant.pk], "email": "mia@acme.example"}
    assert root.post(page, data).status_code == 302
    assert root.post(page, data).status_code == 302
    profile, changed = rows()
    assert profile == ("user.profile", "mia", {}, {"changed": ["email"]})
    assert changed == (
        "user.set", "mia", {"groups": [], "grants": []}, {"groups": ["operator"], "grants": ["tenants.see_payload"]},
    )  # fmt: skip
    assert AuditEntry.objects.filter(actor_kind="person").count() == 2
    assert "mia@acme.example" not in str(list(AuditEntry.objects.values()))


def test_accounts_that_are_made_and_deleted(root: Client, mia: User, acme: Tenant) -> None:
    Membership.objects.create(user=mia, tenant=acme, role="admin")
    secret = {"password1": "a long secret 1", "password2": "a long secret 1", "usable_password": "true"}
    assert root.post("/admin/auth/user/add/", {"username": "new", **secret}).status_code == 302
    assert root.post(f"/admin/auth/user/{mia.pk}/delete/", {"post": "yes"}).status_code == 302
    made, ended, deleted = rows()
    assert made[:3] == ("user.create", "new", {})
    assert ended == ("membership.end", "mia in acme", {"role": "admin"}, {"role": None})
    assert (deleted[0], deleted[1], deleted[3]) == ("user.delete", "mia", {})
    assert "secret" not in str(list(AuditEntry.objects.values()))


def test_many_that_are_deleted_at_once_have_a_row_each(root: Client, mia: User) -> None:
    other = User.objects.create_user("other")
    data = {"action": "delete_selected", "_selected_action": [mia.pk, other.pk], "post": "yes"}
    assert root.post("/admin/auth/user/", data).status_code == 302
    assert sorted(row[:2] for row in rows()) == [("user.delete", "mia"), ("user.delete", "other")]


def test_passwords_that_are_set(root: Client, mia: User) -> None:
    new = {"password1": "a long secret 1", "password2": "a long secret 1", "usable_password": "true"}
    page = f"/admin/auth/user/{mia.pk}/password/"
    assert root.post(page, new | {"password2": "another one"}).status_code == 200
    assert rows() == []
    assert root.post(page, new | {"set-password": "1"}).status_code == 302
    assert rows() == [("user.password", "mia", {}, {"password": "changed"})]
    mia.refresh_from_db()
    assert mia.check_password("a long secret 1")


def test_ones_own_password(root: Client) -> None:
    user = User.objects.get(is_superuser=True)
    user.set_password("correct horse")
    user.save()
    root.force_login(user)
    new = {"old_password": "correct horse", "new_password1": "a long secret 1", "new_password2": "a long secret 1"}
    assert root.post("/admin/password_change/", new | {"old_password": "x"}).status_code == 200
    assert rows() == []
    assert root.post("/admin/password_change/", new).status_code == 302
    assert rows() == [("user.password", user.username, {}, {"password": "changed"})]


def test_memberships_that_are_given_moved_and_taken(root: Client, mia: User, acme: Tenant, world: World) -> None:
    rival = world.tenant("rival")
    data = {"user": mia.pk, "tenant": acme.pk, "role": "viewer"}
    assert root.post("/admin/tenants/membership/add/", data).status_code == 302
    page = f"/admin/tenants/membership/{Membership.objects.get().pk}/"
    assert root.post(f"{page}change/", data | {"role": "admin"}).status_code == 302
    assert root.post(f"{page}change/", data | {"role": "admin", "tenant": rival.pk}).status_code == 302
    assert root.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    assert rows() == [
        ("membership.set", "mia in acme", {"role": None}, {"role": "viewer"}),
        ("membership.set", "mia in acme", {"role": "viewer"}, {"role": "admin"}),
        ("membership.end", "mia in acme", {"role": "admin"}, {"role": None}),
        ("membership.set", "mia in rival", {"role": None}, {"role": "admin"}),
        ("membership.end", "mia in rival", {"role": "admin"}, {"role": None}),
    ]
    assert set(AuditEntry.objects.values_list("tenant_id", flat=True)) == {acme.pk, rival.pk}


def test_groups_and_lockouts(root: Client, mia: User) -> None:
    operators, grant = Group.objects.get(name="operator"), Permission.objects.get(codename="see_payload")
    mia.groups.add(operators)
    page = f"/admin/auth/group/{operators.pk}/"
    assert root.post(f"{page}change/", {"name": "operator", "permissions": [grant.pk]}).status_code == 302
    assert root.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    attempt = AccessAttempt.objects.create(username="mia", ip_address="127.0.0.1", failures_since_start=10)
    assert root.post(f"/admin/axes/accessattempt/{attempt.pk}/delete/", {"post": "yes"}).status_code == 302
    assert rows() == [
        ("group.set", "operator", {"grants": []}, {"grants": ["tenants.see_payload"]}),
        (
            "group.delete", "operator",
            {"name": "operator", "grants": ["tenants.see_payload"], "members": ["mia"]}, {},
        ),
        ("lockout.delete", "mia", {"failures": 10}, {}),
    ]  # fmt: skip


def test_no_address_of_the_admin_answers_anybody_else(world: World, acme: Tenant) -> None:
    """SE-04: the addresses come from the resolver, so that a new one cannot escape."""
    client = world.client(Role.OPERATOR)
    user = User.objects.latest("pk")
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    found = [path for path, _ in patterns() if path.startswith("admin/") and "login/" not in path and "<" in path]
    found += [path for path, _ in patterns() if path.startswith("admin/") and path.endswith(("add/", "_change/"))]
    assert len(found) > 20
    for path in found:
        url = "/" + re.sub(r"<\w+:\w+>|<id>|\(\?P<[^>]+>[^)]*\)", "1", path)
        for method in ("get", "post"):
            code = getattr(client, method)(url).status_code
            assert code in (302, 403, 404), (url, method)
            assert code != 302 or getattr(client, method)(url)["Location"].startswith("/admin/"), (url, method)
            assert getattr(Client(), method)(url).status_code == 302, (url, method)
