"""A job belongs to the transaction that asks for it (OB-01, OB-02, OB-03)."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from dlq.locking import lock_letters
from dlq.replaying import key_refusals
from dlq.services import letter_replay, replay_batch
from jobops.context.models import OutboxEntry
from jobops.contracts.batches import Batch
from jobops.engine.client import Engine
from jobops.engine.errors import IntakeClosed, InvalidJob, UnknownTenant
from jobops.runtime import enqueuer, lookup
from tenants import services
from tests.dlq import replays
from tests.runtime.factory import echo, new_job, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def using(**options: object):  # type: ignore[no-untyped-def]
    return echo.using(tenant="acme", **options)  # type: ignore[arg-type]


def enqueue_every_way() -> None:
    """OB-02: now, at a time, after a time, in bulk, and as a batch."""
    using().enqueue(1)
    using(run_after=timedelta(seconds=10)).enqueue(2)
    using(run_after=datetime.now(UTC) + timedelta(seconds=10)).enqueue(3)
    using().enqueue_many([{"value": 4}, {"value": 5}])
    with Batch(tenant="acme") as batch:
        batch.add(echo, 6)


def test_a_job_is_not_to_be_seen_before_the_commit_and_is_pushed_right_after(both: Engine) -> None:
    """OB-01"""
    with transaction.atomic():
        handle = using().enqueue(1)
        assert (handle.state, handle.status()) == ("outbox", "outbox")
        assert waiting(both) == []
    assert waiting(both) == [handle.id]
    assert handle.status() == "queued"
    assert not OutboxEntry.objects.exists()


def test_a_rollback_leaves_nothing_of_any_way_to_enqueue(both: Engine) -> None:
    """OB-01, OB-02"""
    with transaction.atomic():
        enqueue_every_way()
        transaction.set_rollback(True)
    assert not OutboxEntry.objects.exists()
    assert both.redis.keys("rq:*") == []
    assert both.redis.keys("jobops:batch*") == []


def test_every_way_to_enqueue_arrives_after_the_commit(both: Engine) -> None:
    """OB-02"""
    with transaction.atomic():
        enqueue_every_way()
        assert OutboxEntry.objects.count() == 6
    assert len(waiting(both)) == 4
    assert both.redis.zcard("rq:scheduler:scheduled_jobs") == 2
    assert not OutboxEntry.objects.exists()


@pytest.mark.parametrize("commits", [False, True])
def test_a_replay_belongs_to_its_transaction_too(both: Engine, commits: bool) -> None:
    """OB-02: whoever replays a letter, alone or with others, within something that is rolled back."""
    letters = [replays.dead(both, number=number) for number in range(3)]
    forgotten = both.redis.dbsize()
    with transaction.atomic():
        letter_replay(letter_id=letters[0].pk, by="tests")
        held = key_refusals(letters[1:])
        assert replay_batch(lock_letters([letter.pk for letter in letters[1:]]), "tests", None, held) == {
            letter.pk: "" for letter in letters[1:]
        }
        assert both.redis.dbsize() == forgotten
        transaction.set_rollback(not commits)
    assert len(waiting(both, "acme.bulk")) == (3 if commits else 0)
    assert not OutboxEntry.objects.exists()


def test_a_savepoint_that_is_rolled_back_takes_only_its_own_jobs_along(both: Engine) -> None:
    """OB-01: an inner atomic rolled back, the outer one committed."""
    with transaction.atomic():
        first = using().enqueue(1)
        with transaction.atomic():
            using().enqueue(2)
            transaction.set_rollback(True)
        with transaction.atomic():
            third = using().enqueue(3)
    assert waiting(both) == [first.id, third.id]


def test_jobs_survive_when_the_first_one_of_a_transaction_was_in_a_lost_savepoint(both: Engine) -> None:
    with transaction.atomic():
        with transaction.atomic():
            using().enqueue(1)
            transaction.set_rollback(True)
        kept = using().enqueue(2)
    assert waiting(both) == [kept.id]


def test_one_transaction_is_pushed_in_one_go(both: Engine, django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    with transaction.atomic():
        ids = [using().enqueue(n).id for n in range(50)]
        connection.queries_log.clear()
        pushed_from = len(OutboxEntry.objects.all())
    assert pushed_from == 50
    assert waiting(both) == ids
    with django_assert_max_num_queries(12), transaction.atomic():
        using().enqueue_many([{"value": n} for n in range(50)])


def test_a_delay_counts_from_the_enqueue_and_not_from_the_push(both: Engine) -> None:
    with transaction.atomic():
        before = time.time()
        handle = using(run_after=timedelta(seconds=30)).enqueue()
        row = OutboxEntry.objects.get(pk=handle.id)
    assert before + 29.9 < row.due_at_ms / 1000 < before + 31
    score = both.redis.zscore("rq:scheduler:scheduled_jobs", handle.id)
    assert score == pytest.approx(row.due_at_ms / 1000, abs=0.001)


def test_a_time_in_the_past_means_now(both: Engine) -> None:
    with transaction.atomic():
        handle = using(run_after=datetime(2020, 1, 1, tzinfo=UTC)).enqueue()
    assert waiting(both) == [handle.id]


def test_what_the_database_knows_to_be_wrong_is_refused_at_once_and_not_after_the_commit(both: Engine) -> None:
    services.tenant_set(tenant=tenant("closed"), by="tests", intake_closed=True)
    with transaction.atomic():
        with pytest.raises(UnknownTenant, match="nobody"):
            echo.using(tenant="nobody").enqueue()
        with pytest.raises(IntakeClosed, match="closed"):
            echo.using(tenant="closed").enqueue()
        with pytest.raises(InvalidJob, match=r"^key"):
            enqueuer().enqueue(new_job(key="a\0b"))
        kept = using().enqueue()
    assert waiting(both) == [kept.id]


def test_a_bad_job_among_many_does_not_touch_the_others(both: Engine) -> None:
    jobs = [new_job(), new_job(tenant="nobody"), new_job(max_attempts=0), new_job()]
    for within in (True, False):
        both.redis.delete("rq:queue:acme.interactive")
        jobs = [new_job(job.tenant, max_attempts=job.max_attempts) for job in jobs]
        if within:
            with transaction.atomic():
                answers = enqueuer().enqueue_many(jobs)
        else:
            answers = enqueuer().enqueue_many(jobs)
        assert [type(answer).__name__ for answer in answers] == ["Enqueued", "UnknownTenant", "InvalidJob", "Enqueued"]
        assert waiting(both) == [jobs[0].id, jobs[3].id]


def test_a_tenant_made_in_the_same_transaction_is_known_when_its_job_arrives(both: Engine) -> None:
    with transaction.atomic():
        tenant("fresh")
        handle = echo.using(tenant="fresh").enqueue()
    assert waiting(both, "fresh.interactive") == [handle.id]


def test_without_autocommit_the_job_waits_for_the_relay(both: Engine) -> None:
    """Django offers no commit hook under manual transaction management."""
    transaction.set_autocommit(False)
    try:
        handle = using().enqueue()
        transaction.rollback()
        assert lookup(handle.id) is None
        kept = using().enqueue()
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert waiting(both) == []
    assert OutboxEntry.objects.get().pk == kept.id


def test_the_second_enqueue_of_one_id_is_a_no_op_wherever_it_happens(both: Engine) -> None:
    job = new_job()
    with transaction.atomic():
        enqueuer().enqueue(job)
        enqueuer().enqueue(job)
    assert enqueuer().enqueue(job).state == "duplicate"
    with transaction.atomic():
        enqueuer().enqueue(job)
    assert waiting(both) == [job.id]
    assert not OutboxEntry.objects.exists()


def test_a_job_that_was_taken_into_another_one_says_so_afterwards(both: Engine) -> None:
    first = using(key="k").enqueue()
    with transaction.atomic():
        second = using(key="k").enqueue()
    assert second.status() == "coalesced"
    assert OutboxEntry.objects.get(pk=second.id).coalesced_into == first.id
    assert waiting(both) == [first.id]


def test_a_worker_sees_the_row_that_was_written_with_the_job(both: Engine) -> None:
    """OB-01: the job starts only when what it works on is committed."""
    seen: list[int] = []

    def work() -> None:
        deadline = time.monotonic() + 10
        while not seen and time.monotonic() < deadline:
            if waiting(both):
                from tenants.models import Tenant

                seen.append(Tenant.objects.filter(slug="with-job").count())
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    with transaction.atomic():
        tenant("with-job")
        using().enqueue()
        time.sleep(0.2)  # not a wait for something: the time in which nothing may happen
    thread.join()
    assert seen == [1]
