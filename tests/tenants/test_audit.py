"""What is changed of tenants and of who belongs to them is in the audit, with what changed and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tenants.deletion import tenant_delete
from tenants.errors import AlreadyPaused, NotPaused, TenantBusy, TenantExists
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tenants.services import tenant_create, tenant_pause, tenant_resume, tenant_set
from tenants.staff import membership_end, membership_set, staff_role_give, staff_role_take
from tests.tenants.fakes import Recorder
from tests.tenants.people import new_tenant, person

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> list[tuple[str, str, str, Any, Any, str]]:
    fields = ("action", "actor", "target_id", "before", "after", "reason")
    return list(AuditEntry.objects.order_by("id").values_list(*fields))


def test_taking_on_changing_pausing_and_resuming(pusher: Recorder) -> None:
    ada = person(Role.OPERATOR, name="ada")
    AuditEntry.objects.all()._raw_delete("default")
    tenant = tenant_create(slug="acme", by=ada, cap=5).tenant
    tenant_set(tenant=tenant, by="command:root", cap=6, weight=1.0, lane_caps={"bulk": 2})
    tenant_pause(tenant=tenant, by=ada, reason="the provider is down", close_intake=True)
    tenant_resume(tenant=tenant, by=ada, open_intake=True)
    created, *others = rows()
    assert created[:4] == ("tenant.create", "ada", "acme", {})
    assert created[4] | {"cap": 5, "weight": 1.0, "paused": False} == created[4]
    assert others == [
        ("tenant.set", "command:root", "acme", {"cap": 5, "lane_caps": {}}, {"cap": 6, "lane_caps": {"bulk": 2}}, ""),
        (
            "tenant.pause", "ada", "acme", {"paused": False, "intake_closed": False},
            {"paused": True, "intake_closed": True}, "the provider is down",
        ),
        (
            "tenant.resume", "ada", "acme", {"paused": True, "intake_closed": True},
            {"paused": False, "intake_closed": False}, "",
        ),
    ]  # fmt: skip
    assert set(AuditEntry.objects.values_list("tenant_id", "tenant_slug")) == {(tenant.pk, "acme")}


def test_what_was_refused_or_changes_nothing_leaves_no_row(pusher: Recorder) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    tenant_pause(tenant=tenant, by="test", reason="x")
    before = rows()
    with pytest.raises(AlreadyPaused):
        tenant_pause(tenant=tenant, by="test", reason="y")
    with pytest.raises(TenantExists):
        tenant_create(slug="acme", by="test")
    tenant_set(tenant=tenant, by="test", cap=10)
    assert rows() == before
    tenant_resume(tenant=tenant, by="test")
    with pytest.raises(NotPaused):
        tenant_resume(tenant=tenant, by="test")
    assert [row[0] for row in rows()] == ["tenant.create", "tenant.pause", "tenant.resume"]


def test_a_deletion_says_what_there_was_and_who_loses_their_role(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test", name="Acme").tenant
    person(Role.TENANT_ADMIN, tenant, name="mia")
    tenant_delete(tenant=tenant, by="command:root", engine=plugged)
    (ended,), (deleted,) = (
        [row for row in rows() if row[0] == action] for action in ("membership.end", "tenant.delete")
    )
    assert ended[2:5] == ("mia in acme", {"role": "admin"}, {"role": None})
    assert deleted[1:3] == ("command:root", "acme")
    assert deleted[3]["name"] == "Acme"
    assert deleted[4] == {}
    assert AuditEntry.objects.get(action="tenant.delete").tenant_id == tenant.pk
    assert not Tenant.objects.filter(slug="acme").exists()


def test_a_deletion_that_was_refused_is_none(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    from tenants import leftovers

    leftovers.register_leftover("test things", lambda tenant: 1)
    try:
        with pytest.raises(TenantBusy):
            tenant_delete(tenant=tenant, by="test", engine=plugged)
    finally:
        del leftovers._counters["test things"]
    assert [row[0] for row in rows()] == ["tenant.create"]


def test_roles_that_are_given_and_taken() -> None:
    mia, acme = User.objects.create_user("mia"), new_tenant("acme")
    for _twice in range(2):
        staff_role_give(user=mia, role=Role.OPERATOR, by="test")
        membership_set(user=mia, tenant=acme, role=Membership.Role.VIEWER, by="test")
    membership_set(user=mia, tenant=acme, role=Membership.Role.ADMIN, by="test")
    for _twice in range(2):
        staff_role_take(user=mia, role=Role.OPERATOR, by="test")
        membership_end(user=mia, tenant=acme, by="test")
    assert [(row[0], row[2], row[3], row[4]) for row in rows()] == [
        ("user.set", "mia", {"groups": []}, {"groups": ["operator"]}),
        ("membership.set", "mia in acme", {"role": None}, {"role": "viewer"}),
        ("membership.set", "mia in acme", {"role": "viewer"}, {"role": "admin"}),
        ("user.set", "mia", {"groups": ["operator"]}, {"groups": []}),
        ("membership.end", "mia in acme", {"role": "admin"}, {"role": None}),
    ]
