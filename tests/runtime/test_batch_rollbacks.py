"""Members of a batch belong to their savepoint: rolled back, they are none, and the job after the batch still runs."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from jobops import Batch, BatchStatus, IntakeClosed, job
from jobops.engine.client import Engine
from tenants import services
from tenants.models import Tenant
from tests.runtime.batch_factory import (
    Changed,
    add_and_roll_back,
    after_jobs,
    count,
    ends_well,
    look,
    rolled_back,
    row,
    then,
)
from tests.runtime.factory import echo, run_all, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@job(name="tests.spills", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive", on_full="spill")
def spills(number: int) -> None: ...


@pytest.mark.parametrize("outer", [False, True], ids=["alone", "in a transaction"])
def test_members_of_a_savepoint_that_is_rolled_back_are_none(both: Engine, outer: bool) -> None:
    def fill() -> Batch:
        with Batch(tenant="acme", then=then()) as batch:
            batch.add(echo, 1)
            add_and_roll_back(batch)
            with transaction.atomic():
                batch.add(echo, 2)
            batch.add_many(echo, [{"value": 3}])
        return batch

    if outer:
        with transaction.atomic():
            batch = fill()
    else:
        batch = fill()
    assert len(waiting(both)) == 3
    ends_well(both, batch, 3)


def test_of_nested_savepoints_only_what_is_rolled_back_is_left_out(both: Engine) -> None:
    with Batch(tenant="acme", then=then()) as batch, transaction.atomic():
        with rolled_back(), transaction.atomic():
            batch.add(echo, "released, and rolled back with what is around it")
        with transaction.atomic():
            batch.add(echo, "kept")
            add_and_roll_back(batch)
    ends_well(both, batch, 1)


def test_all_of_them_rolled_back_make_a_batch_without_members(both: Engine) -> None:
    with Batch(tenant="acme", then=then()) as batch:
        add_and_roll_back(batch)
    ends_well(both, batch, 0)


def test_a_savepoint_of_the_callers_own_counts_too(both: Engine) -> None:
    """Django drops no hook of a savepoint that is made by hand."""
    with Batch(tenant="acme", then=then()) as batch, transaction.atomic():
        batch.add(echo, 1)
        mine = transaction.savepoint()
        batch.add(echo, 2)
        transaction.savepoint_rollback(mine)
        batch.add(echo, 3)
        with connection.cursor() as cursor:
            cursor.execute("SAVEPOINT by_hand")
            batch.add(echo, 4)
            cursor.execute("ROLLBACK TO SAVEPOINT by_hand")
    ends_well(both, batch, 2)


def test_coalesced_and_refused_members_beside_some_that_are_rolled_back(both: Engine) -> None:
    echo.using(tenant="acme", key="k").enqueue()
    with Batch(tenant="acme", then=then()) as batch:
        with transaction.atomic():
            batch.add(echo.using(tenant="acme", key="k"), "is taken into the live one at the commit")
        with rolled_back():
            batch.add(echo.using(tenant="acme", key="k"), "would be")
            batch.add(echo.using(tenant="acme", key="other"), "holds its key no longer")
        assert batch.add(echo.using(tenant="acme", key="other")).state == "queued"
        assert batch.add(echo.using(tenant="acme", key="k")).state == "coalesced"
    assert batch.status() == BatchStatus("running", total=3, left=1, coalesced=2)
    run_all(both)
    count(both)
    look(both)
    assert batch.status().state == "succeeded"
    assert after_jobs(both) == [f"{batch.id}-then"]


def test_refused_in_a_transaction_they_are_none(both: Engine) -> None:
    with transaction.atomic(), Batch(tenant="acme", then=then()) as batch:
        batch.add(echo, 1)
        services.tenant_set(tenant=Tenant.objects.get(), by="tests", intake_closed=True)
        answers = batch.add_many(echo, [{"value": 2}])
        assert isinstance(answers[0], IntakeClosed)
        with pytest.raises(IntakeClosed):
            batch.add(echo, 3)
    assert row(batch).total == 1


def test_spilled_members_are_members_and_rolled_back_ones_are_not(both: Engine) -> None:
    small = tenant("small", depth_limit=1)
    with Batch(tenant="small") as batch:
        assert [batch.add(spills, number).state for number in range(3)] == ["queued", "outbox", "outbox"]
        with rolled_back():
            batch.add(spills, 7)
        with transaction.atomic():
            batch.add(spills, 9)
    assert row(batch).total == 4
    services.tenant_set(tenant=small, by="tests", depth_limit=None)
    assert batch.status() == BatchStatus("running", total=4, left=4)


def test_an_exception_in_the_block_counts_those_that_stayed(both: Engine) -> None:
    with pytest.raises(Changed), Batch(tenant="acme") as batch:  # noqa: PT012
        batch.add(echo, 1)
        add_and_roll_back(batch)
        raise Changed
    count(both)
    assert batch.status() == BatchStatus("cancelled", total=1, cancelled=1)
