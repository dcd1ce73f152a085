"""Cancelling a batch from its page: what ends, who may, and where there is nothing to cancel."""

from __future__ import annotations

import pytest
from django.test import Client

from jobops.audit.models import AuditEntry
from jobops.batches.models import Batch
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.test_batches import ID, batch_of, text_of
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", cap=None)


@pytest.fixture
def staff(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def test_cancelling_leaves_what_runs_and_a_row_in_the_audit(world: World, acme: Tenant, staff: Client) -> None:
    batch_of(acme, total=2)
    for _ in range(2):
        world.enqueue("acme", batch=ID)
    world.claim()
    answer = staff.post(f"/batches/{ID}/cancel/", {"reason": "wrong file"}, follow=True)
    assert "Import 2026-11 is cancelled." in answer.content.decode()
    batch = Batch.objects.get()
    assert batch.state == "cancelled"
    row = AuditEntry.objects.get(action="batch.cancel")
    assert (row.target_id, row.tenant_id, row.reason) == (ID, acme.pk, "wrong file")
    again = staff.post(f"/batches/{ID}/cancel/", follow=True).content.decode()
    assert "Nothing was changed: it is over already." in again
    operator = world.client(Role.OPERATOR)
    assert f'href="/batches/{ID}/"' in operator.get("/audit/").content.decode()


@pytest.mark.parametrize(
    ("role", "why"),
    [
        (Role.ON_CALL, "Nothing is left to cancel: its dead letter is to be drained."),
        (Role.TENANT_ADMIN, "you may not cancel jobs"),
    ],
)
def test_a_stuck_one_with_nothing_more_to_come_offers_no_cancelling(
    world: World, acme: Tenant, role: Role, why: str
) -> None:
    batch_of(acme, state="stuck", total=2, dead=1, succeeded=1)
    world.letter(acme, batch=ID)
    client = world.client(role, acme)
    page = client.get(f"/batches/{ID}/").content.decode()
    assert f'action="/batches/{ID}/cancel/"' not in page
    assert 'aria-disabled="true" aria-describedby="may-not"' in page
    assert why in text_of(client, f"/batches/{ID}/")
    answer = client.post(f"/batches/{ID}/cancel/", follow=True)
    assert answer.status_code == (200 if role == Role.ON_CALL else 403)
    if role == Role.ON_CALL:
        assert f"Nothing was changed. {why}" in answer.content.decode()
    assert Batch.objects.get().state == "stuck"


def test_one_with_members_to_come_or_that_is_being_filled_can_be_cancelled(
    world: World, acme: Tenant, staff: Client
) -> None:
    for fields in ({"state": "stuck", "total": 2, "dead": 1}, {"state": "filling"}):
        batch_of(acme, **fields)
        assert f'action="/batches/{ID}/cancel/"' in staff.get(f"/batches/{ID}/").content.decode()
        staff.post(f"/batches/{ID}/cancel/")
        assert Batch.objects.get().state == "cancelled"
        Batch.objects.all().delete()
