"""The table of roles against the one that was agreed on, written down a second time on purpose."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.core.management import call_command

from tenants.access import can, masked
from tenants.roles import GRANTS, STAFF_GROUPS, TABLE, Action, Role
from tests.tenants.people import again, new_tenant, person

# y yes, n no, g if granted, p where the tenant lets its admins pause, r where it lets them replay
COLUMNS = ("superuser", "operator", "on call", "staff viewer", "tenant admin", "tenant viewer")
AGREED = {
    Action.SEE: "yyyyyy",
    Action.SEE_FLEET: "yyyynn",
    Action.SEE_PAYLOAD: "yggnnn",
    Action.EDIT_PAYLOAD: "yggnnn",
    Action.REPLAY: "yyynrn",
    Action.DISCARD: "yyynrn",
    Action.UNDO: "yyynrn",
    Action.ASSIGN: "yyynrn",
    Action.ACKNOWLEDGE: "yyynrn",
    Action.PAUSE: "yyynpn",
    Action.PAUSE_ANY: "yyynnn",
    Action.CANCEL: "yyynnn",
    Action.STOP: "yyynnn",
    Action.RUN_NOW: "yyynnn",
    Action.SET_LIMITS: "yynnnn",
    Action.MANAGE_TENANTS: "yynnnn",
    Action.MANAGE_WORKERS: "yynnnn",
    Action.CONFIGURE: "yynnnn",
    Action.SILENCE: "yyynnn",
    Action.SEE_AUDIT: "yyynyn",
    Action.SEE_AUDIT_OF_PEOPLE: "yynnyn",
    Action.EXPORT_AUDIT: "ynnnnn",
    Action.MANAGE_USERS: "ynnnnn",
    Action.SEE_RQ: "ynnnnn",
}


def test_no_action_is_missing_from_the_agreed_table() -> None:
    assert set(AGREED) == set(Action) == set(TABLE)
    assert tuple(role.value for role in Role) == COLUMNS


@pytest.mark.django_db
def test_every_role_may_do_to_its_tenant_what_the_table_says() -> None:
    open_one = new_tenant("open-one", may_pause=True, may_replay=True)
    strict = new_tenant("strict")
    for role in Role:
        for tenant in (open_one, strict):
            user = person(role, tenant)
            for action in Action:
                cell = AGREED[action][COLUMNS.index(role)]
                expected = cell == "y" or (cell in "pr" and tenant is open_one)
                answer = can(user, action, tenant)
                assert bool(answer) is expected, (role, action, tenant.slug)
                assert bool(answer.reason) is not expected, (role, action)


@pytest.mark.django_db
@pytest.mark.parametrize("action", list(GRANTS))
def test_a_grant_helps_those_whose_role_can_be_granted_it(action: Action) -> None:
    codename = GRANTS[action].removeprefix("tenants.")
    tenant = new_tenant("acme")
    for role in Role:
        user = person(role, tenant)
        user.user_permissions.add(Permission.objects.get(content_type__app_label="tenants", codename=codename))
        assert bool(can(again(user), action, tenant)) is (AGREED[action][COLUMNS.index(role)] in "yg"), role


@pytest.mark.django_db
def test_a_members_role_counts_in_their_own_tenant_only() -> None:
    mine, other = new_tenant("mine"), new_tenant("other", may_pause=True, may_replay=True)
    admin = person(Role.TENANT_ADMIN, mine)
    assert can(admin, Action.SEE, mine)
    for action in Action:
        assert not can(admin, action, other), action
        assert not can(admin, action), action


@pytest.mark.django_db
def test_strangers_inactive_and_anonymous_people_may_do_nothing() -> None:
    tenant = new_tenant("acme", may_pause=True, may_replay=True)
    fired = person(Role.SUPERUSER)
    fired.is_active = False
    for user in (person(), fired, AnonymousUser()):
        for action in Action:
            assert not can(user, action, tenant)
            assert not can(user, action)


@pytest.mark.django_db
def test_a_tenants_people_read_that_what_is_for_the_whole_fleet_is_not_for_them() -> None:
    member = person(Role.TENANT_ADMIN, new_tenant("acme"))
    for action in (Action.SEE_FLEET, Action.REPLAY):
        assert can(member, action).reason == "This is for our team only."
    assert can(member, Action.SEE, new_tenant("rival")).reason == can(person(), Action.SEE_FLEET).reason
    assert can(person(), Action.SEE_FLEET).reason == "You have no role here."


@pytest.mark.django_db
def test_two_roles_allow_what_either_does() -> None:
    tenant = new_tenant("acme", may_replay=True)
    user = person(Role.STAFF_VIEWER)
    assert not can(user, Action.REPLAY, tenant)
    both = person(Role.TENANT_ADMIN, tenant)
    assert can(both, Action.REPLAY, tenant)


@pytest.mark.django_db
def test_only_superusers_and_the_granted_see_payloads_unmasked() -> None:
    tenant = new_tenant("acme")
    seen = {role for role in Role if not masked(person(role, tenant), tenant)}
    assert seen == {Role.SUPERUSER}


@pytest.mark.django_db
def test_the_reason_says_what_would_allow_it() -> None:
    tenant = new_tenant("acme")
    assert "where the tenant's settings" in can(person(Role.TENANT_ADMIN, tenant), Action.PAUSE, tenant).reason
    assert "tenants.see_payload" in can(person(Role.ON_CALL), Action.SEE_PAYLOAD, tenant).reason
    assert (
        can(person(Role.STAFF_VIEWER), Action.PAUSE, tenant).reason
        == "As staff viewer you may not pause or resume a tenant."
    )
    reason = can(person(Role.ON_CALL), Action.CONFIGURE).reason
    assert reason == "As on call you may not change settings: only an operator may."


@pytest.mark.django_db
def test_a_page_of_many_rows_asks_the_database_once_for_the_persons_roles(django_assert_num_queries: object) -> None:
    tenants = [new_tenant(f"t{number}") for number in range(30)]
    user = person(Role.TENANT_ADMIN, tenants[0])
    with django_assert_num_queries(2):  # type: ignore[operator]
        for tenant in tenants:
            can(user, Action.PAUSE, tenant)
            can(user, Action.REPLAY, tenant)


def test_the_groups_of_the_migration_are_the_staff_roles() -> None:
    from importlib import import_module

    assert tuple(role.value for role in STAFF_GROUPS) == import_module("tenants.migrations.0002_staff_roles").NAMES


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", ["first", "second"])
def test_no_test_takes_the_groups_away_from_the_next_one(turn: str) -> None:
    assert set(Group.objects.values_list("name", flat=True)) == {role.value for role in STAFF_GROUPS}
    # What ends a test like this one.
    call_command("flush", interactive=False, verbosity=0)
    assert set(Group.objects.values_list("name", flat=True)) == {role.value for role in STAFF_GROUPS}
