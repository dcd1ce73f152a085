"""A type's window holds for every way to enqueue (OB-02): straight, in a transaction, many at once, for later."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from jobops.context import relay
from jobops.context.models import OutboxEntry
from jobops.contracts.calls import Call
from jobops.contracts.decorator import job
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer, lookup
from jobops.runtime.enqueuer import pusher
from tenants import services
from tenants.deletion import tenant_delete
from tenants.models import Tenant
from tests.runtime.factory import new_job, run_all, waiting

pytestmark = pytest.mark.django_db(transaction=True)


@job(
    name="tests.once_an_hour", owner="tests", drain_sla="1h", idempotent="does nothing", lane="interactive",
    dedup_window="1h", max_attempts=1,
)  # fmt: skip
def once_an_hour(value: object = None) -> object:
    return value


def using(**options: object) -> Call[...]:
    return once_an_hour.using(tenant="acme", key="k", **options)  # type: ignore[arg-type, return-value]


@pytest.fixture
def first(both: Engine) -> str:
    """The id of the job that has just succeeded."""
    handle = using().enqueue(1)
    assert run_all(both, Outcome.succeeded(b"42")) == [handle.id]
    return handle.id


def test_a_second_enqueue_is_the_first_one_and_its_handle_works(both: Engine, first: str) -> None:
    handle = using().enqueue(2)
    assert (handle.id, handle.state) == (first, "coalesced")
    assert (handle.status(), handle.result(timeout=1)) == ("succeeded", 42)
    assert waiting(both) == []


def test_so_is_one_for_later(both: Engine, first: str) -> None:
    handle = using(run_after=timedelta(minutes=5)).enqueue(2)
    assert (handle.id, handle.state) == (first, "coalesced")
    assert both.redis.zcard("rq:scheduler:scheduled_jobs") == 0


def test_in_a_transaction_the_relay_finds_out_and_the_row_shows_the_first_id(both: Engine, first: str) -> None:
    with transaction.atomic():
        second = using().enqueue(2)
        third = using(run_after=timedelta(minutes=5)).enqueue(3)
    for handle in (second, third):
        row = OutboxEntry.objects.get(pk=handle.id)
        assert (row.state, row.coalesced_into) == ("coalesced", first)
        assert handle.state == "outbox"
        assert (handle.status(), handle.result(timeout=1)) == ("coalesced", 42)
    assert waiting(both) == []


def test_so_does_the_relay_of_the_scheduler(both: Engine, first: str) -> None:
    from jobops.context import outbox

    late = new_job(key="k", job_type="tests.once_an_hour", dedup_ms=3_600_000)
    outbox.write([late])
    OutboxEntry.objects.update(next_try_at="2020-01-01T00:00:00Z")
    relay.relay(pusher())
    found = lookup(late.id)
    assert found is not None
    assert (found.state, found.reason) == ("coalesced", first)


@pytest.mark.parametrize("within", [False, True])
def test_many_at_once_are_answered_alike(both: Engine, first: str, within: bool) -> None:
    jobs = [new_job(key=key, job_type="tests.once_an_hour", dedup_ms=3_600_000) for key in ("k", "k2", "k")]
    if within:
        with transaction.atomic():
            enqueuer().enqueue_many(jobs)
    else:
        answers = enqueuer().enqueue_many(jobs)
        assert [getattr(answer, "id", "") for answer in answers] == [first, jobs[1].id, first]
    assert waiting(both) == [jobs[1].id]


@pytest.mark.parametrize("end", [Outcome.failed("poison"), Outcome.discarded()])
def test_one_that_did_not_succeed_blocks_no_later_one(both: Engine, end: Outcome) -> None:
    """DL-09"""
    using().enqueue(1)
    run_all(both, end)
    with transaction.atomic():
        handle = using().enqueue(2)
    assert waiting(both) == [handle.id]


def test_the_next_customer_of_the_slug_starts_afresh(both: Engine, first: str) -> None:
    tenant_delete(tenant=Tenant.objects.get(slug="acme"), by="tests", engine=both, force=True)
    services.tenant_create(slug="acme", by="tests")
    handle = using().enqueue(2)
    assert (handle.state, waiting(both)) == ("queued", [handle.id])
