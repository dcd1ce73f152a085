"""Batches whose members nobody tells of: found in the outbox, in Redis and among the letters, or given up, in words."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import DeadLetter
from dlq.services import letter_discard, letter_replay, letter_undo
from jobops import Batch, BatchStatus
from jobops.audit.models import AuditEntry
from jobops.batches import changing
from jobops.batches.models import Batch as Row
from jobops.context import outbox, outbox_rows, relay
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.keys import rq_job
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from jobops.runtime.enqueuer import pusher
from jobops.scheduling.duties import Context
from jobops.steward import batches, policies
from tests.runtime.batch_factory import POISON, after_jobs, count, end, filled, look, row
from tests.runtime.factory import claim, echo, new_job, run_all, settle, waiting
from tests.runtime.together import twice_at_once

pytestmark = pytest.mark.django_db(transaction=True)


def in_outbox(count: int = 2) -> Batch:
    """A batch whose members are on their way, as their process was killed after its commit."""
    batch = filled(0)
    Row.objects.filter(pk=batch.id).update(total=count)
    outbox.write([new_job(batch=batch.id) for _ in range(count)])
    return batch


def test_two_stewards_at_once_enqueue_one_job_after_it(both: Engine) -> None:
    """Trap 7"""
    made = [filled(1) for _ in range(10)]
    run_all(both)
    twice_at_once(lambda: batches.BatchCounting().run(Context(both)))
    assert sorted(after_jobs(both)) == sorted(f"{batch.id}-then" for batch in made)
    assert OutboxEntry.objects.count() == 0


def test_killed_between_the_state_and_the_push_it_resumes(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state and the outbox row are one transaction: a kill before it changes nothing, a kill after it leaves the
    row to the relay."""
    batch = filled(1)
    run_all(both)

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(changing.outbox, "write_and_push_on_commit", killed)
        with pytest.raises(SystemExit):
            count(both)
    assert row(batch).state == "running"
    with monkeypatch.context() as patched:
        patched.setattr(enqueuer(), "push", killed)
        patched.setattr(both.scripts, "batch_forget", killed)
        with pytest.raises(SystemExit):
            count(both)
    assert (row(batch).state, after_jobs(both)) == ("succeeded", [])
    count(both)
    OutboxEntry.objects.update(next_try_at=timezone.now(), claim_token="")
    relay.relay(pusher())
    assert after_jobs(both) == [f"{batch.id}-then"]


def test_a_member_that_is_cancelled_on_its_way_does_not_leave_it_open(both: Engine) -> None:
    batch = in_outbox(2)
    assert outbox_rows.cancel(OutboxEntry.objects.filter(pk__in=OutboxEntry.objects.values("pk")[:1])) == 1
    OutboxEntry.objects.update(next_try_at=timezone.now())
    relay.relay(pusher())
    run_all(both)
    look(both)
    assert batch.status() == BatchStatus("ended", total=2, succeeded=1, cancelled=1)


def test_a_parked_member_needs_a_person_who_lets_it_go_or_cancels_it(both: Engine) -> None:
    batch = in_outbox(2)
    OutboxEntry.objects.update(state=OutboxEntry.State.PARKED, parked_as=OutboxEntry.Parked.REFUSED)
    look(both)
    assert batch.status() == BatchStatus("stuck", total=2, left=2)
    both.scripts.batch_touch(batch.id)
    count(both)
    assert row(batch).state == "stuck", "a count in between asks for the parked ones again"
    first, second = OutboxEntry.objects.values_list("pk", flat=True)
    assert outbox_rows.unpark(first)
    relay.relay(pusher())
    assert outbox_rows.cancel(OutboxEntry.objects.filter(pk=second)) == 1
    run_all(both)
    look(both)
    assert batch.status() == BatchStatus("ended", total=2, succeeded=1, cancelled=1)


def test_a_flushed_redis_loses_it_and_it_says_so(both: Engine, caplog: pytest.LogCaptureFixture) -> None:
    """Trap 11"""
    batch = filled(3)
    end(both, None)
    count(both)
    both.redis.flushall()
    both.prepare()
    with caplog.at_level(logging.ERROR):
        look(both)
    assert batch.status() == BatchStatus("lost", total=3, succeeded=1, lost=2)
    assert f"batch {batch.id}: nothing is known of 3 of its 3 members" in caplog.text
    assert after_jobs(both) == []


def test_members_still_in_the_outbox_are_not_lost_with_a_flush(both: Engine) -> None:
    batch = in_outbox(2)
    both.redis.flushall()
    look(both)
    assert batch.status() == BatchStatus("running", total=2, left=2)


def test_a_member_whose_record_an_outsider_deleted_is_lost(both: Engine) -> None:
    batch = filled(2)
    both.redis.delete(rq_job(waiting(both)[0]))
    run_all(both)
    look(both)
    assert batch.status() == BatchStatus("lost", total=2, succeeded=1, lost=1)


def test_a_member_whose_record_was_lost_while_it_ran_counts_by_how_it_ended(both: Engine) -> None:
    batch = filled(2)
    for outcome in (Outcome.succeeded(), POISON):
        job = claim(both)
        assert job is not None
        both.redis.delete(rq_job(job.id))
        settle(both, job, outcome)
    count(both)
    look(both)
    assert batch.status() == BatchStatus("stuck", total=2, succeeded=1, dead=1)


def test_a_replay_that_is_lost_gives_the_member_back_to_its_letter(both: Engine) -> None:
    batch = filled(1)
    end(both, POISON)
    count(both)
    letter = DeadLetter.objects.get()
    run = letter_replay(letter_id=letter.pk, by="tests")
    count(both)
    both.redis.delete(rq_job(run.job_id), "rq:queue:acme.interactive", both.keys.pushed(run.job_id))
    look(both)
    assert row(batch).state == "running", "as long as its letter is being replayed"
    DeadLetter.objects.update(state="open")
    look(both)
    assert batch.status() == BatchStatus("stuck", total=1, dead=1)


def test_an_undone_discard_makes_the_member_dead_again(both: Engine) -> None:
    batch = filled(2)
    end(both, POISON, POISON)
    count(both)
    first = DeadLetter.objects.earliest("pk")
    letter_discard(letter_id=first.pk, by="tests", reason="no such row")
    look(both)
    assert both.scripts.batch_state(batch.id).dropped == 1
    letter_undo(letter_id=first.pk, by="tests")
    look(both)
    assert both.scripts.batch_state(batch.id).dropped == 0
    assert batch.status() == BatchStatus("stuck", total=2, dead=2)


def test_a_filling_that_was_cut_off_is_cancelled_and_one_that_goes_on_is_not(both: Engine) -> None:
    batch = Batch(tenant="acme")
    batch.__enter__()
    batch.add(echo)
    look(both, minutes=50)
    assert row(batch).state == "filling"
    look(both, minutes=70)
    look(both)
    assert batch.status().state == "cancelled"
    assert waiting(both) == []
    told = AuditEntry.objects.get(action="batch.cancel")
    assert (told.actor, told.reason) == ("scheduler", "its filling was cut off")


def test_a_broken_key_of_one_batch_stops_no_other(both: Engine) -> None:
    broken, fine = filled(1), filled(1)
    both.redis.set(both.keys.batch(broken.id, "ended"), "a string")
    run_all(both)
    count(both)
    look(both)
    assert fine.status().state == "succeeded"
    assert row(broken).state == "running"


def test_a_large_batch_is_looked_through_in_a_bounded_number_of_queries(both: Engine) -> None:
    counts = []
    for size in (20, 400):
        filled(size)
        look(both)
        with CaptureQueriesContext(connection) as queries:
            look(both)
        counts.append(len(queries))
        both.redis.flushall()
        both.prepare()
        Row.objects.all().delete()
        policies.run(Context(both))
    assert counts[0] == counts[1] < 30


def test_what_is_over_for_long_is_deleted_and_nothing_else(both: Engine) -> None:
    over, young, waits = filled(0), filled(0), filled(1)
    count(both)
    old = timezone.now() - timedelta(days=31)
    Row.objects.filter(pk__in=[over.id, waits.id]).update(created_at=old)
    Row.objects.filter(pk=over.id).update(ended_at=old)
    assert batches.forget(Context(both)) == 1
    assert set(Row.objects.values_list("pk", flat=True)) == {young.id, waits.id}
