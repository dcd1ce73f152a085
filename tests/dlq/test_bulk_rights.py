"""A bulk action that runs does nothing for who may not do it any more: a role ends, an account, or a permission."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User

from dlq.bulk import bulk_confirm, bulk_draft, bulk_undo
from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward.bulk import BulkActions
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tests.dlq.letters import letters, states
from tests.runtime import factory  # registers tests.echo
from tests.tenants.people import again, new_tenant, person

pytestmark = pytest.mark.django_db
assert factory.echo

ENDS: dict[str, Callable[[User, Tenant], object]] = {
    "their membership ends": lambda user, tenant: Membership.objects.filter(user=user).delete(),
    "they become a viewer": lambda user, tenant: Membership.objects.filter(user=user).update(role="viewer"),
    "their account is closed": lambda user, tenant: User.objects.filter(pk=user.pk).update(is_active=False),
    "their account is deleted": lambda user, tenant: User.objects.filter(pk=user.pk).delete(),
    "their tenant may not replay": lambda user, tenant: Tenant.objects.filter(pk=tenant.pk).update(may_replay=False),
    "their tenant is deleted": lambda user, tenant: Tenant.objects.filter(pk=tenant.pk).delete(),
}
STAFF_ENDS: dict[str, Callable[[User], object]] = {
    "their role ends": lambda user: user.groups.clear(),
    "they become a viewer": lambda user: user.groups.set([Group.objects.get(name=Role.STAFF_VIEWER)]),
    "their account is closed": lambda user: User.objects.filter(pk=user.pk).update(is_active=False),
    "their account is deleted": lambda user: User.objects.filter(pk=user.pk).delete(),
}


def running(kind: str, by: User | str) -> BulkAction:
    bulk = bulk_draft(kind=kind, letters=DeadLetter.objects.all(), by=by, chosen="", reason="r")
    return bulk_confirm(bulk_id=bulk.pk, by=by)


def stopped(bulk: BulkAction) -> str:
    """Why the audit says that it was stopped by itself."""
    bulk.refresh_from_db()
    assert (bulk.state, bulk.ended_at is not None) == ("cancelled", True)
    row = AuditEntry.objects.get(action="bulk.cancel", target_id=str(bulk.pk))
    assert (row.actor, row.actor_kind) == ("scheduler", "system")
    assert (row.before, row.after["state"], row.after["done"]) == ({"state": "running"}, "cancelled", bulk.done)
    return row.reason


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", ["replay", "discard"])
def test_it_stops_where_a_tenants_admin_may_no_longer_do_it(kind: str, end: str) -> None:
    acme = new_tenant("acme", may_replay=True)
    some, mia = letters(acme, 5), person(Role.TENANT_ADMIN, acme, name="mia")
    bulk = running(kind, mia)
    assert run_batch(bulk.pk, size=2) == 2
    ENDS[end](mia, acme)
    assert run_batch(bulk.pk) == 0
    assert states(some)[2:] == ["open"] * 3
    assert stopped(bulk) == f"mia may not {kind} dead letters of all these tenants any more"
    assert (bulk.done, bulk.skipped, bulk.matched) == (2, 0, 5)
    assert run_batch(bulk.pk) == 0


@pytest.mark.parametrize("end", STAFF_ENDS)
def test_it_stops_where_one_of_our_team_may_no_longer_do_it(end: str) -> None:
    some, ada = letters(new_tenant("acme"), 3), person(Role.ON_CALL, name="ada")
    bulk = running("discard", ada)
    STAFF_ENDS[end](ada)
    assert run_batch(bulk.pk) == 0
    assert states(some) == ["open"] * 3
    assert "ada may not discard" in stopped(bulk)


def test_an_undo_stops_as_well() -> None:
    acme = new_tenant("acme", may_replay=True)
    some, mia = letters(acme, 3), person(Role.TENANT_ADMIN, acme, name="mia")
    discard = running("discard", mia)
    run_batch(discard.pk)
    undo = bulk_undo(bulk_id=discard.pk, by=mia)
    Membership.objects.filter(user=mia).delete()
    assert run_batch(undo.pk) == 0
    assert states(some) == ["discarded"] * 3
    assert "mia may not undo a discard" in stopped(undo)


def test_nothing_of_a_batch_happens_that_holds_a_letter_where_they_may_not() -> None:
    acme, other = new_tenant("acme", may_replay=True), new_tenant("other", may_replay=True)
    some, mia = [*letters(acme, 2), *letters(other, 2)], person(Role.TENANT_ADMIN, acme, name="mia")
    Membership.objects.create(user=mia, tenant=other, role=Membership.Role.ADMIN)
    bulk = running("discard", again(mia))
    Membership.objects.filter(user=mia, tenant=other).delete()
    assert run_batch(bulk.pk, size=2) == 2, "of these they may"
    assert run_batch(bulk.pk, size=2) == 0
    assert states(some) == ["discarded"] * 2 + ["open"] * 2
    assert stopped(bulk)


def test_who_still_may_and_a_command_go_on(engine: Engine) -> None:
    acme = new_tenant("acme", may_replay=True)
    some = letters(acme, 4)
    for by in (person(Role.TENANT_ADMIN, acme), person(Role.ON_CALL), "command:ada"):
        for kind in ("discard", "undo"):
            bulk = running(kind, by)
            assert run_batch(bulk.pk, size=3) == 3
            assert BulkActions().run(Context(engine)) == 1, "by another process"
            bulk.refresh_from_db()
            assert (bulk.state, bulk.done) == ("finished", 4)
    assert states(some) == ["open"] * 4


def test_one_that_is_stopped_keeps_no_other_waiting(engine: Engine) -> None:
    acme = new_tenant("acme", may_replay=True)
    some, mia = letters(acme, 3), person(Role.TENANT_ADMIN, acme, name="mia")
    hers, ours = running("discard", mia), running("discard", "command:ada")
    mia.delete()
    assert BulkActions().run(Context(engine)) == 3
    ours.refresh_from_db()
    assert (ours.state, ours.done) == ("finished", 3)
    assert stopped(hers)
    assert states(some) == ["discarded"] * 3
