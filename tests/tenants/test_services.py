"""Taking on, changing, pausing and resuming tenants."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from jobops.engine.rates import Rate
from tenants.access import can_resume
from tenants.errors import AlreadyPaused, InvalidTenant, NotPaused, PausedByStaff, TenantExists, TenantGone
from tenants.models import Tenant
from tenants.roles import Role
from tenants.services import tenant_create, tenant_pause, tenant_resume, tenant_set
from tests.tenants.fakes import Recorder
from tests.tenants.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_tenant_has_the_defaults_and_its_policy_is_in_force(pusher: Recorder) -> None:
    change = tenant_create(slug="acme", by="test")
    assert change.in_force
    assert change.problem == ""
    assert (change.tenant.name, change.tenant.weight, change.tenant.cap) == ("acme", 1.0, 10)
    assert change.tenant.depth_limit is None
    assert not change.tenant.policy_is_stale
    assert [(policy.slug, policy.cap, policy.paused) for policy in pusher.pushed] == [("acme", 10, False)]


def test_all_fields_reach_the_engine(pusher: Recorder) -> None:
    tenant_create(
        slug="acme", by="test", name="Acme Inc", weight=2, cap=None, lane_caps={"bulk": 3}, depth_limit=100,
        intake_closed=True, rate="3000/60s",
    )  # fmt: skip
    (policy,) = pusher.pushed
    assert (policy.weight, policy.cap, dict(policy.lane_caps)) == (2.0, None, {"bulk": 3})
    assert (policy.depth_limit, policy.intake_closed) == (100, True)
    assert policy.rate == Rate(3000, 60_000)
    assert Tenant.objects.get().rate == "3000/m"


def test_a_slug_is_taken_once(pusher: Recorder) -> None:
    tenant_create(slug="acme", by="test")
    with pytest.raises(TenantExists, match="'acme' exists already"):
        tenant_create(slug="acme", by="test")
    assert len(pusher.pushed) == 1


@pytest.mark.parametrize("slug", ["", "A", "a b", "a.b", "ä", "a" * 51, "a\n", "a_b", "a/b", "a:b", None])
def test_slugs_that_would_break_a_queues_name_are_refused(slug: str) -> None:
    with pytest.raises(InvalidTenant, match=r"^slug: .*a-z, 0-9 and -"):
        tenant_create(slug=slug, by="test")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weight": 0}, "weight: 0 must be from 0.01 to 1000"),
        ({"weight": float("nan")}, "weight: nan must be a number"),
        ({"weight": float("inf")}, "weight: inf must be a number"),
        ({"weight": True}, "weight: True must be a number"),
        ({"cap": 0}, "cap: 0 must be a whole number .* pause it"),
        ({"cap": 1.5}, "cap: 1.5 must be a whole number"),
        ({"depth_limit": -1}, "depth_limit: -1 must be a whole number .* close its intake"),
        ({"depth_limit": 2**31}, "depth_limit: 2147483648 must be"),
        ({"lane_caps": {"express": 1}}, "lane_caps: there is no lane 'express'; the lanes are bulk, interactive"),
        ({"lane_caps": {"bulk": 0}}, "lane_caps.bulk: 0 must be"),
        ({"lane_caps": 3}, "lane_caps: 3 must map lanes"),
        ({"rate": "fast"}, "rate: 'fast' is no rate; write it as .* or none"),
        ({"rate": "1/8d"}, "rate: '1/8d' is out of bounds"),
        ({"rate": 5}, "rate: 5 is no rate"),
        ({"name": "a\0b"}, "name: .*control characters"),
        ({"name": "a" * 201}, "name: must be at most 200 characters, not 201"),
        ({"colour": "red"}, "colour: a tenant has no such field"),
    ],
)
def test_each_bad_value_is_refused_by_name(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidTenant, match=message):
        tenant_create(slug="acme", by="test", **fields)  # type: ignore[arg-type]
    assert not Tenant.objects.exists()


def test_set_changes_what_is_given_and_nothing_else(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test", name="Acme", weight=2.0, cap=5).tenant
    change = tenant_set(tenant=tenant, by="test", cap=None)
    assert (change.tenant.name, change.tenant.weight, change.tenant.cap) == ("Acme", 2.0, None)
    assert pusher.pushed[-1].cap is None
    assert pusher.pushed[-1].version > pusher.pushed[0].version


def test_pause_says_who_why_and_since_when(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    first = tenant_pause(tenant=tenant, by=person(name="olga"), reason="  floods the mail server ").tenant
    assert (first.paused, first.paused_by, first.pause_reason) == (True, "olga", "floods the mail server")
    assert pusher.pushed[-1].paused
    resumed = tenant_resume(tenant=tenant, by="test").tenant
    assert (resumed.paused, resumed.paused_by, resumed.paused_at, resumed.pause_reason) == (False, "", None, "")
    assert not pusher.pushed[-1].paused


def test_pause_may_close_the_intake_and_resume_open_it(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    assert tenant_pause(tenant=tenant, by="test", reason="r", close_intake=True).tenant.intake_closed
    assert tenant_resume(tenant=tenant, by="test").tenant.intake_closed, "as it was closed on purpose"
    assert not tenant_resume(tenant=tenant, by="test", open_intake=True).tenant.intake_closed
    assert not pusher.pushed[-1].intake_closed


def test_a_second_pause_is_refused_and_overwrites_nothing(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    first = tenant_pause(tenant=tenant, by=person(Role.OPERATOR, name="olga"), reason="incident 7").tenant
    since = f"{first.paused_at:%Y-%m-%d %H:%M} UTC"
    with pytest.raises(AlreadyPaused, match=f"^acme is already paused by olga since {since}: incident 7$"):
        tenant_pause(tenant=tenant, by="command:root", reason="mine", close_intake=True)
    after = Tenant.objects.get()
    assert (after.paused_by, after.pause_reason, after.paused_at) == ("olga", "incident 7", first.paused_at)
    assert not after.intake_closed
    assert len(pusher.pushed) == 2


def test_resuming_what_is_not_paused_says_so(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    with pytest.raises(NotPaused, match=r"^acme is not paused$"):
        tenant_resume(tenant=tenant, by="test")


@pytest.mark.parametrize("by", [Role.SUPERUSER, Role.OPERATOR, Role.ON_CALL, "command:root"])
def test_a_tenants_people_do_not_lift_what_staff_paused(by: Role | str, pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test", may_pause=True).tenant
    admin = person(Role.TENANT_ADMIN, tenant)
    actor = person(by) if isinstance(by, Role) else by
    paused = tenant_pause(tenant=tenant, by=actor, reason="incident").tenant
    assert paused.paused_by_staff
    refusal = can_resume(admin, paused)
    assert (refusal.allowed, refusal.reason) == (False, "Our team paused this, so only our team can resume it.")
    with pytest.raises(PausedByStaff):
        tenant_resume(tenant=tenant, by=admin)
    with pytest.raises(AlreadyPaused):
        tenant_pause(tenant=tenant, by=admin, reason="mine")
    assert Tenant.objects.get().pause_reason == "incident"
    assert not tenant_resume(tenant=tenant, by=actor).tenant.paused_by_staff


def test_a_tenants_admin_lifts_a_pause_of_their_own_and_so_does_staff(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test", may_pause=True).tenant
    admin = person(Role.TENANT_ADMIN, tenant)
    for lifts in (admin, person(Role.ON_CALL), "command:root"):
        paused = tenant_pause(tenant=tenant, by=admin, reason="audit").tenant
        assert not paused.paused_by_staff
        assert can_resume(admin, paused)
        assert not tenant_resume(tenant=tenant, by=lifts).tenant.paused


@pytest.mark.parametrize("reason", ["", "  ", "a\nb", "a\0b", "x" * 501])
def test_a_pause_needs_one_line_of_reason(reason: str, pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    with pytest.raises(InvalidTenant, match=r"^reason: "):
        tenant_pause(tenant=tenant, by="test", reason=reason)


def test_changing_a_tenant_that_was_deleted_meanwhile_says_so(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    Tenant.objects.filter(pk=tenant.pk).delete()
    with pytest.raises(TenantGone, match="'acme' was deleted in the meantime"):
        tenant_set(tenant=tenant, by="test", cap=1)


def test_a_change_that_is_rolled_back_never_reaches_the_engine(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant

    with transaction.atomic():
        change = tenant_pause(tenant=tenant, by="test", reason="r")
        assert not change.in_force
        assert "surrounding transaction" in change.problem
        transaction.set_rollback(True)
    assert [policy.paused for policy in pusher.pushed] == [False]
    assert not Tenant.objects.get(slug="acme").paused


def test_two_people_changing_one_tenant_both_count(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    start = threading.Barrier(2)

    def change(**fields: int) -> None:
        start.wait()
        for _ in range(5):
            tenant_set(tenant=Tenant.objects.get(pk=tenant.pk), by="test", **fields)  # type: ignore[arg-type]
        connection.close()

    threads = [threading.Thread(target=change, kwargs=fields) for fields in ({"cap": 3}, {"depth_limit": 7})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = Tenant.objects.get(pk=tenant.pk)
    assert (after.cap, after.depth_limit, after.policy_is_stale) == (3, 7, False)
    assert (pusher.pushed[-1].cap, pusher.pushed[-1].depth_limit) == (3, 7)
    versions = [policy.version for policy in pusher.pushed]
    assert versions == sorted(versions), "no older policy was pushed after a newer one"
