"""The relay: what a committing process left behind arrives, once, and one bad row stops nobody (OB-04, OB-05)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from jobops.context import outbox, outbox_rows, relay, relay_answers, relay_claims
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.engine.client import Engine
from jobops.engine.errors import DepthExceeded, EnqueueRefused
from jobops.engine.records import Enqueued, NewJob
from jobops.runtime.enqueuer import pusher
from tenants import services
from tenants.models import Tenant
from tests.runtime.factory import echo, new_job, run_all, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def due_now() -> None:
    OutboxEntry.objects.filter(state="waiting").update(next_try_at=timezone.now() - timedelta(seconds=1))
    OutboxHold.objects.update(until=timezone.now() - timedelta(seconds=1))


def leave_behind(*jobs: NewJob) -> None:
    """Rows whose process died right after its commit."""
    outbox.write(jobs)
    due_now()


class Recorder:
    """A pusher that notes what it was given, and may do something first."""

    def __init__(self) -> None:
        self.pushed: list[str] = []

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
        self.pushed += [job.id for job in jobs]
        return pusher().enqueue_many(jobs)


def test_a_process_killed_between_commit_and_push_loses_nothing(both: Engine) -> None:
    connection.close()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            with transaction.atomic():
                handle = echo.using(tenant="acme").enqueue()
                os.write(writer, handle.id.encode())
                transaction.on_commit(lambda: os._exit(0))
                connection.run_on_commit.reverse()
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    job_id = os.read(reader, 100).decode()
    assert waiting(both) == []
    assert OutboxEntry.objects.get().pk == job_id
    assert relay.relay(pusher()) == 0, "rows younger than 2 s belong to the process that wrote them"
    due_now()
    assert relay.relay(pusher()) == 1
    assert waiting(both) == [job_id]
    assert not OutboxEntry.objects.exists()


def test_rows_are_pushed_in_the_order_they_were_asked_for(both: Engine) -> None:
    jobs = [new_job() for _ in range(30)]
    leave_behind(*jobs)
    while relay.relay(pusher(), limit=7):
        pass
    assert waiting(both) == [job.id for job in jobs]


def test_first_pushed_at_is_committed_before_the_push(both: Engine) -> None:
    """Trap 9"""
    seen = []

    class Looking(Recorder):
        def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
            assert not connection.in_atomic_block
            seen.extend(OutboxEntry.objects.values_list("first_pushed_at", flat=True))
            return super().enqueue_many(jobs)

    leave_behind(new_job())
    relay.relay(Looking())
    assert len(seen) == 1
    assert seen[0] is not None


def test_one_row_that_can_never_be_sent_is_parked_and_the_others_flow(
    both: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-05: row 1 names an unknown tenant; rows 2 to 100 are delivered; row 1 is parked after some tries."""
    bad, good = new_job(tenant="nobody"), [new_job() for _ in range(99)]
    leave_behind(bad, *good)
    began = time.monotonic()
    relay.relay(pusher())
    assert waiting(both) == [job.id for job in good]
    assert time.monotonic() - began < 5
    waits = []
    for _ in range(relay_answers.PARK_AFTER - 1):
        row = OutboxEntry.objects.get()
        waits.append((row.next_try_at - timezone.now()).total_seconds())
        assert (row.state, row.first_pushed_at) == ("waiting", None)
        due_now()
        relay.relay(pusher())
    assert waits[:-1] == sorted(waits[:-1]), "the gaps grow"  # the last is at the cap: its jitter may make it shorter
    assert max(waits) < relay_answers.MAX_BACKOFF_S
    row = OutboxEntry.objects.get()
    assert (row.pk, row.state, row.parked_as, row.attempts) == (bad.id, "parked", "refused", relay_answers.PARK_AFTER)
    assert "nobody" in row.last_error
    (alert,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "1 outbox row(s) of tenant nobody parked after 10 refusal(s)" in alert
    assert outbox.backlog() == outbox.Backlog(0, None, 1), "what counts the lag counts it"
    tenant("nobody")
    assert outbox_rows.unpark(bad.id)
    assert relay.relay(pusher()) == 1
    assert waiting(both, "nobody.interactive") == [bad.id]


def test_a_row_that_breaks_a_whole_batch_is_found_and_the_others_flow(both: Engine) -> None:
    poison, good = new_job(), [new_job() for _ in range(5)]

    class Broken(Recorder):
        def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
            if any(job.id == poison.id for job in jobs):
                raise ValueError("\0 what is this")
            return super().enqueue_many(jobs)

    leave_behind(*good[:2], poison, *good[2:])
    relay.relay(Broken())
    assert waiting(both) == [job.id for job in good]
    row = OutboxEntry.objects.get()
    assert (row.pk, row.attempts) == (poison.id, 1)
    assert row.last_error == "ValueError: \\0 what is this"
    assert row.first_pushed_at is not None, "after an unknown error nobody knows whether it arrived"


def test_a_depth_limit_only_delays_what_is_in_the_outbox(both: Engine) -> None:
    services.tenant_set(tenant=Tenant.objects.get(), by="tests", depth_limit=1)
    jobs = [new_job(), new_job()]
    leave_behind(*jobs)
    for _ in range(relay_answers.PARK_AFTER + 2):
        due_now()
        relay.relay(pusher())
    row = OutboxEntry.objects.get()
    assert (row.pk, row.state) == (jobs[1].id, "waiting")
    assert row.last_error.startswith(DepthExceeded.__name__)
    assert run_all(both) == [jobs[0].id]
    due_now()
    relay.relay(pusher())
    assert run_all(both) == [jobs[1].id]


def test_three_relays_at_once_push_five_hundred_rows_once_each(both: Engine) -> None:
    """OB-04"""
    jobs = [new_job() for _ in range(500)]
    leave_behind(*jobs)
    recorders = [Recorder() for _ in range(3)]

    def work(recorder: Recorder) -> None:
        try:
            while OutboxEntry.objects.exists():
                relay.relay(recorder, limit=40)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(recorder,)) for recorder in recorders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waiting(both)) == sorted(job.id for job in jobs)
    assert sum(len(recorder.pushed) for recorder in recorders) == 500


def test_a_relay_that_stalled_past_its_claim_overwrites_nothing(both: Engine) -> None:
    """OB-04: stalled, it marks a row that another relay has pushed or failed meanwhile."""
    job = new_job(tenant="nobody")
    leave_behind(job)

    class Stalling(Recorder):
        def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
            answers = super().enqueue_many(jobs)
            due_now()  # the claim is over …
            relay.relay(pusher())  # … and the next relay has failed with it
            OutboxEntry.objects.update(last_error="of the second relay")
            return answers

    relay.relay(Stalling())
    row = OutboxEntry.objects.get()
    assert (row.attempts, row.last_error) == (1, "of the second relay")


def test_a_process_that_slept_past_its_claim_pushes_nothing(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_behind(new_job())
    real, recorder = time.time, Recorder()
    claimed = relay._claim

    def sleepy(*args: object) -> relay_claims.Claimed:
        answer = claimed(*args)  # type: ignore[arg-type]
        monkeypatch.setattr(time, "time", lambda: real() + 120)
        return answer

    monkeypatch.setattr(relay, "_claim", sleepy)
    relay.relay(recorder)
    assert recorder.pushed == []
    assert OutboxEntry.objects.get().state == "waiting"


def test_coalesced_and_cancelled_rows_are_forgotten_after_a_day_and_parked_ones_never(both: Engine) -> None:
    old, parked, fresh = new_job(), new_job(), new_job()
    assert outbox.backlog() == outbox.Backlog(0, None, 0)
    outbox.write([old, parked, fresh])
    rows = OutboxEntry.objects
    assert outbox_rows.cancel(rows.filter(pk__in=[old.id, fresh.id])) == 2
    rows.filter(pk=old.id).update(ended_at=timezone.now() - timedelta(hours=25))
    rows.filter(pk=parked.id).update(state="parked", created_at=timezone.now() - timedelta(days=90))
    assert outbox.backlog() == outbox.Backlog(0, None, 1)
    assert outbox_rows.forget_ended() == 1
    assert set(rows.values_list("pk", flat=True)) == {parked.id, fresh.id}
