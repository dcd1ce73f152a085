"""A tenant is deleted at the moment its letters change: neither of the two is given up. (SQLite has one writer.)"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import OperationalError, connection, transaction

from dlq.causes.checking import differences
from dlq.locking import lock_letters
from dlq.models import DeadLetter, GroupTenant
from dlq.services import discard_batch
from jobops.engine.client import Engine
from tenants import deletion
from tenants.deletion import tenant_delete
from tenants.models import Tenant
from tenants.services import tenant_create
from tests.dlq.letters import letters, states
from tests.tools import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres_only]

_BLOCKED = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"


def blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_BLOCKED)
        return cursor.fetchone() == (True,)


def beside(work: Callable[[], object]) -> tuple[threading.Thread, list[Exception]]:
    errors: list[Exception] = []

    def run() -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001
            errors.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


def test_whoever_has_its_letters_changes_them_and_then_it_is_deleted(plugged: Engine) -> None:
    tenant = tenant_create(slug="acme", by="test").tenant
    some = list(letters(tenant, 3))
    with transaction.atomic():
        locked = lock_letters([letter.pk for letter in some])
        thread, errors = beside(lambda: tenant_delete(tenant=tenant, by="test", engine=plugged, force=True))
        wait_for(blocked, what="the deletion to wait")
        # Counts them in the tenant's share too, which the deletion deletes.
        discard_batch(locked, "test", "not needed")
    thread.join(timeout=30)
    assert errors == []
    assert not Tenant.objects.exists()
    assert not GroupTenant.objects.exists()
    assert states(some) == ["discarded"] * 3
    assert set(DeadLetter.objects.values_list("tenant", flat=True)) == {None}
    assert list(differences()) == []


class _Deadlock(Exception):
    sqlstate = "40P01"


@pytest.mark.parametrize(("times", "deleted"), [(1, True), (deletion.TRIES, False)])
def test_a_deletion_that_the_database_gave_up_is_tried_again_a_few_times(
    plugged: Engine, monkeypatch: pytest.MonkeyPatch, times: int, *, deleted: bool
) -> None:
    tenant, left = tenant_create(slug="acme", by="test").tenant, [1] * times
    cancel = deletion.cancel_rows

    def given_up(tenant: Tenant) -> int:
        if left:
            left.pop()
            raise OperationalError("deadlock detected") from _Deadlock()
        return cancel(tenant)

    monkeypatch.setattr(deletion, "cancel_rows", given_up)
    if deleted:
        tenant_delete(tenant=tenant, by="test", engine=plugged)
    else:
        with pytest.raises(OperationalError):
            tenant_delete(tenant=tenant, by="test", engine=plugged)
    assert Tenant.objects.exists() is not deleted
