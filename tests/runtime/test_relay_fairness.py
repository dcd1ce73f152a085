"""The relay among tenants: a flood of one, full or closed or not, holds up none of the others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobops.context import holds, outbox, outbox_rows, relay, relay_answers
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.context.turns import Turns
from jobops.engine.client import Engine
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import Enqueued, NewJob
from jobops.runtime.enqueuer import pusher
from tenants import services
from tenants.models import Tenant
from tests.runtime.factory import echo, new_job, run_all, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def leave_behind(*jobs: NewJob) -> None:
    """Rows whose process died right after its commit."""
    outbox.write(jobs)
    OutboxEntry.objects.update(next_try_at=timezone.now() - timedelta(seconds=1))


def end_pause() -> None:
    OutboxHold.objects.update(until=timezone.now() - timedelta(seconds=1))


def limit_depth(slug: str, limit: int | None) -> None:
    services.tenant_set(tenant=Tenant.objects.get(slug=slug), by="tests", depth_limit=limit)


class Recorder:
    """A pusher that notes what it was given; ``singly`` makes it fail for more than one."""

    def __init__(self, *, singly: bool = False) -> None:
        self.pushed: list[str] = []
        self.singly = singly

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
        if self.singly and len(jobs) > 1:
            raise ValueError("not together")
        self.pushed += [job.id for job in jobs]
        return pusher().enqueue_many(jobs)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_flood_of_one_tenant_does_not_hold_up_another_ones_row(both: Engine) -> None:
    tenant("victim")
    flood, last = [new_job() for _ in range(300)], new_job("victim")
    leave_behind(*flood, last)
    relay.relay(pusher(), limit=40)
    assert waiting(both, "victim.interactive") == [last.id]
    assert waiting(both) == [job.id for job in flood[:20]]
    relay.relay(pusher(), limit=40)
    assert waiting(both) == [job.id for job in flood[:60]], "alone it gets the whole batch"


def test_a_flood_over_a_depth_limit_is_asked_about_once_and_not_row_by_row(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """Thousands of rows of a full tenant used to be refused one by one before anybody else's turn."""
    tenant("victim")
    limit_depth("acme", 1)
    flood, last = [new_job() for _ in range(2000)], new_job("victim")
    leave_behind(*flood, last)
    first, later = Recorder(), Recorder()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        relay.relay(first, limit=100)
    assert len(queries) <= 20
    assert waiting(both, "victim.interactive") == [last.id]
    assert waiting(both) == [flood[0].id]
    for _ in range(5):
        leave_behind(new_job("victim"))
        assert relay.relay(later, limit=100) == 1, "a tenant that is held has no turn"
    assert len(warnings(caplog)) == 1
    assert "acme" in warnings(caplog)[0]
    tried = OutboxEntry.objects.exclude(last_error="")
    assert {row.last_error.partition(":")[0] for row in tried} == {"DepthExceeded"}
    assert not OutboxEntry.objects.exclude(claim_token="").exists()
    assert not OutboxEntry.objects.exclude(first_pushed_at=None).exists(), "a refusal leaves no doubt"


def test_the_pause_grows_while_a_tenant_is_refused_and_ends_with_the_first_job_taken(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    limit_depth("acme", 1)
    jobs = [new_job() for _ in range(30)]
    leave_behind(*jobs)
    caplog.set_level(logging.INFO, "jobops.outbox")
    pauses = []
    for _ in range(relay_answers.PARK_AFTER + 2):
        relay.relay(pusher(), limit=10)
        pauses.append((OutboxHold.objects.get().until - timezone.now()).total_seconds())
        end_pause()
    assert pauses[1] < pauses[3] < pauses[5]
    assert max(pauses) <= holds.MAX_PAUSE_S
    assert len(warnings(caplog)) == 1
    assert not OutboxEntry.objects.filter(state="parked").exists(), "it waits for as long as it takes"
    run_all(both)
    relay.relay(pusher(), limit=10)
    assert OutboxHold.objects.get().refusals == 1, "something was taken in"
    limit_depth("acme", None)
    run_all(both)
    end_pause()
    while relay.relay(pusher(), limit=10):
        pass
    assert waiting(both) == [job.id for job in jobs[2:]], "in the order in which they were asked for"
    assert not OutboxHold.objects.exists()
    assert sum("flow again" in record.message for record in caplog.records) == 1


def test_rows_of_a_held_tenant_wait_behind_its_older_ones(both: Engine) -> None:
    limit_depth("acme", 1)
    old = [new_job() for _ in range(3)]
    leave_behind(*old)
    relay.relay(pusher())
    run_all(both)
    young = new_job()
    leave_behind(young)
    assert relay.relay(pusher()) == 0
    limit_depth("acme", None)
    end_pause()
    relay.relay(pusher())
    assert waiting(both) == [*(job.id for job in old[1:]), young.id]


def test_a_closed_intake_holds_the_tenant_and_a_new_reason_is_told_once(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    both.scripts.enqueue(new_job())
    leave_behind(*(new_job() for _ in range(20)))
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", intake_closed=True)
    for _ in range(3):
        relay.relay(pusher())
        end_pause()
    assert OutboxHold.objects.get().reason == "IntakeClosed"
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", intake_closed=False, depth_limit=1)
    for _ in range(3):
        relay.relay(pusher())
        end_pause()
    assert OutboxHold.objects.get().reason == "DepthExceeded"
    assert len(warnings(caplog)) == 2


def test_a_commit_of_many_jobs_stops_at_the_limit(both: Engine, caplog: pytest.LogCaptureFixture) -> None:
    limit_depth("acme", 1)
    tenant("other")
    with CaptureQueriesContext(connection) as queries:
        with transaction.atomic():
            echo.using(tenant="acme").enqueue_many([{}] * 1200)
            other = echo.using(tenant="other").enqueue()
        written = sum(query["sql"].startswith("INSERT") for query in queries)
    assert len(waiting(both)) == 1
    assert waiting(both, "other.interactive") == [other.id]
    assert OutboxEntry.objects.exclude(last_error="").count() == 499, "the first batch; the others were not tried"
    assert len(warnings(caplog)) == 1
    assert len(queries) - written < 20


def test_rows_that_must_go_singly_stop_at_the_first_refusal_too(both: Engine) -> None:
    tenant("other")
    limit_depth("acme", 1)
    mine, others = [new_job() for _ in range(10)], [new_job("other") for _ in range(10)]
    leave_behind(*mine, *others)
    recorder = Recorder(singly=True)
    relay.relay(recorder)
    assert set(recorder.pushed) == {*(job.id for job in mine[:2]), *(job.id for job in others)}
    assert OutboxEntry.objects.filter(claim_token="").count() == 9


def test_many_refused_rows_and_coalesced_ones_cost_a_bounded_number_of_queries(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    leave_behind(*(new_job("nobody") for _ in range(60)), *(new_job(key="same") for _ in range(60)))
    with CaptureQueriesContext(connection) as queries:
        assert relay.relay(pusher(), limit=120) == 120
    assert len(queries) <= 20
    assert len(warnings(caplog)) == 1
    assert OutboxEntry.objects.filter(tenant="nobody", state="waiting", attempts=1, claim_token="").count() == 60
    assert OutboxEntry.objects.filter(state="coalesced", coalesced_into=waiting(both)[0]).count() == 59


def test_the_tenants_take_turns_when_they_are_more_than_fit_in_a_batch(both: Engine) -> None:
    slugs = [f"t{n}" for n in range(7)]
    leave_behind(*(new_job(slug) for slug in slugs for _ in range(3)))
    turns, taken = Turns(), []
    for _ in range(4):
        ids = turns.take(4)
        assert len(ids) == 4
        taken += list(OutboxEntry.objects.filter(pk__in=ids).order_by("tenant").values_list("tenant", flat=True))
    assert {slug: taken.count(slug) for slug in slugs} == {
        **dict.fromkeys(slugs[:2], 3),
        **dict.fromkeys(slugs[2:], 2),
    }
    OutboxEntry.objects.update(next_try_at=timezone.now() + timedelta(hours=1))
    assert turns.take(4) == []


@pytest.mark.sqlite_only
def test_the_next_tenant_is_found_without_reading_the_rows_of_a_flood(both: Engine) -> None:
    """By SQLite's query plan: an index is searched, nothing is read through and nothing sorted."""
    with CaptureQueriesContext(connection) as queries:
        leave_behind(new_job())
        Turns().take(10)
    for query, index in zip(queries.captured_queries[-2:], ("outbox_due", "outbox_order"), strict=True):
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plan = [row[3] for row in cursor.fetchall()]
        assert not [line for line in plan if "SCAN jobops" in line or "TEMP B-TREE" in line], plan
        assert [line for line in plan if index in line], plan


def test_a_hold_whose_rows_are_gone_is_forgotten(both: Engine) -> None:
    limit_depth("acme", 1)
    leave_behind(new_job(), new_job())
    relay.relay(pusher())
    outbox_rows.cancel(OutboxEntry.objects.all())
    outbox_rows.forget_ended()
    assert OutboxHold.objects.exists(), "it is in force"
    OutboxHold.objects.update(until=timezone.now() - 2 * holds.FORGET_AFTER)
    outbox_rows.forget_ended()
    assert not OutboxHold.objects.exists()
