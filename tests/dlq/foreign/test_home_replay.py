"""A replay of a foreign letter runs in its own queue, by its own worker, once; and its end is seen."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rq.job import Job

from dlq.causes.checking import differences
from dlq.foreign.sending import push
from dlq.models import DeadLetter, ForeignJob, ReplayRun
from dlq.watch import watch
from jobops.audit.models import AuditEntry
from jobops.engine.client import Engine
from tests.dlq.foreign.home import Look, failed_letter, replay
from tests.dlq.foreign.plain_rq import CHARGE, PlainRQ

pytestmark = pytest.mark.usefixtures("both")


@pytest.mark.parametrize("is_json", [False, True])
def test_its_own_worker_runs_it_and_the_letter_is_resolved(plain: PlainRQ, look: Look, is_json: bool) -> None:
    job = plain.enqueue(CHARGE, "customer-4711", 5, json=is_json)
    plain.work(json=is_json)
    plain.take_over()
    letter = DeadLetter.objects.get()

    run = replay(letter)

    assert plain.waiting() == [job.id.encode()]
    letter.refresh_from_db()
    assert (letter.state, letter.replays, letter.replay_job_id) == ("replaying", 1, run.job_id)
    look()
    letter.refresh_from_db()
    assert letter.state == "replaying"
    plain.work(json=is_json, JOBS_MENDED="1")
    assert job.get_status(refresh=True) == "finished"
    look()
    letter.refresh_from_db()
    run.refresh_from_db()
    assert (letter.state, run.state, letter.drained_by) == ("resolved", "succeeded", "replay")
    assert list(differences()) == []


def test_one_that_fails_again_opens_the_same_letter_with_its_old_clock(plain: PlainRQ, look: Look) -> None:
    letter = failed_letter(plain)
    run = replay(letter)
    plain.work()

    look()

    again = DeadLetter.objects.get()
    run.refresh_from_db()
    assert (again.state, again.dead_at, again.due_at) == ("open", letter.dead_at, letter.due_at)
    assert (run.state, again.group.deaths) == ("died", 2)
    assert again.last_died_at is not None
    assert "PaymentsDown" in again.note
    assert "customer-4711" not in again.note
    assert plain.failed() == []
    assert plain.take_over().imported == 0
    assert list(differences()) == []
    replay(again)
    plain.work(JOBS_MENDED="1")
    look()
    assert DeadLetter.objects.get().state == "resolved"


def test_an_import_that_comes_first_opens_the_same_letter(plain: PlainRQ, look: Look) -> None:
    run = replay(failed_letter(plain))
    plain.work()

    report = plain.take_over()

    run.refresh_from_db()
    letter = DeadLetter.objects.get()
    assert (report.imported, report.again, report.removed) == (0, 1, 1)
    assert (letter.state, run.state, letter.group.deaths) == ("open", "died", 2)
    look()
    assert DeadLetter.objects.get().group.deaths == 2


def test_what_was_left_in_the_registry_is_left_there_again(plain: PlainRQ, look: Look) -> None:
    run = replay(failed_letter(plain, leave=True))
    assert plain.failed() == []
    plain.work()

    look()

    run.refresh_from_db()
    assert run.state == "died"
    assert len(plain.failed()) == 1
    assert plain.take_over(leave=True).known == 1


def test_a_record_that_is_gone_is_restored_as_it_was(plain: PlainRQ, look: Look) -> None:
    job = plain.enqueue(CHARGE, "customer-4711", 5, meta={"a": 1}, retry=None, job_timeout=77, failure_ttl=300)
    plain.work()
    before = plain.redis.hgetall(job.key)
    plain.take_over()
    plain.redis.delete(job.key)

    replay(DeadLetter.objects.get())

    after = plain.redis.hgetall(job.key)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed <= {b"status", b"started_at", b"ended_at", b"enqueued_at", b"exc_info"}
    assert plain.redis.ttl(job.key) == -1
    assert Job.fetch(job.id, connection=plain.redis).args == ("customer-4711", 5)
    plain.work(JOBS_MENDED="1")
    look()
    assert DeadLetter.objects.get().state == "resolved"


def test_a_second_push_of_one_replay_is_a_no_op(plain: PlainRQ) -> None:
    run = replay(failed_letter(plain))
    ReplayRun.objects.update(note="on its way to Redis")

    push([run.job_id])

    run.refresh_from_db()
    assert (len(plain.waiting()), run.state) == (1, "running")
    # It failed again, as it was before the first push: that alone would let it go once more.
    plain.work()
    push([run.job_id])
    assert plain.waiting() == []


@pytest.mark.parametrize("mended", ["", "1"])
def test_one_that_somebody_requeued_at_home_is_not_run_twice(plain: PlainRQ, mended: str) -> None:
    letter = failed_letter(plain, leave=True)
    Job.fetch(ForeignJob.objects.get().rq_id, connection=plain.redis).requeue()
    if mended:
        plain.work(JOBS_MENDED="1")
    waiting = plain.waiting()

    run = replay(letter)

    run.refresh_from_db()
    letter.refresh_from_db()
    assert (run.state, letter.state) == ("refused", "open")
    assert ("finished there" if mended else "queued there already") in letter.note
    assert plain.waiting() == waiting


@pytest.mark.parametrize(
    ("fields", "odd", "refuses"),
    [
        ({"rate_limit_key": "k", "rate_limit_concurrency": "many"}, "", False),
        ({"ttl": "7.5"}, "", False),
        ({"ttl": "inf"}, "", False),
        ({}, "rq:queue:default", True),
        ({"rate_limit_key": "k", "rate_limit_concurrency": "1"}, "rq:rl:k:allowed", True),
    ],
)
def test_a_push_that_its_source_refuses_changes_nothing_there(
    plain: PlainRQ, fields: dict[str, str], odd: str, *, refuses: bool
) -> None:
    """Else its job would be queued by its own word, and in no queue: no later replay could ever begin."""
    letter = failed_letter(plain, leave=True)
    key = f"rq:job:{ForeignJob.objects.get().rq_id}"
    if fields:
        plain.redis.hset(key, mapping=fields)
    if odd:
        plain.redis.set(odd, "of another kind")

    run = replay(letter)

    run.refresh_from_db()
    assert (run.state == "refused") is refuses
    assert plain.redis.hget(key, "status") == (b"failed" if refuses else b"queued")
    assert len(plain.failed()) == refuses


def test_a_job_that_is_gone_is_lost_and_says_so(plain: PlainRQ, look: Look) -> None:
    run = replay(failed_letter(plain))
    Job.fetch(ForeignJob.objects.get().rq_id, connection=plain.redis).delete()

    look()

    run.refresh_from_db()
    letter = DeadLetter.objects.get()
    assert (run.state, letter.state) == ("lost", "open")
    assert "gone at its source" in letter.note


def test_one_whose_record_has_grown_too_large_is_lost_and_says_so(plain: PlainRQ, look: Look) -> None:
    """Else its letter would be replaying for ever."""
    run = replay(failed_letter(plain))
    plain.work()
    plain.redis.hset(f"rq:job:{ForeignJob.objects.get().rq_id}", "meta", b"x" * 5_000_000)
    look()
    run.refresh_from_db()
    letter = DeadLetter.objects.get()
    assert (run.state, letter.state) == ("lost", "open")
    assert "too large" in letter.note


def test_a_job_that_keeps_no_result_is_seen_to_succeed(plain: PlainRQ, look: Look) -> None:
    plain.enqueue(CHARGE, "customer-4711", 5, result_ttl=0)
    plain.work()
    plain.take_over()
    replay(DeadLetter.objects.get())
    plain.work(JOBS_MENDED="1")

    look()

    assert DeadLetter.objects.get().state == "resolved"


def test_retries_at_home_are_its_own_affair(plain: PlainRQ, look: Look) -> None:
    letter = failed_letter(plain)
    job = Job.fetch(ForeignJob.objects.get().rq_id, connection=plain.redis)
    plain.redis.hset(job.key, mapping={"retries_left": 1, "retry_intervals": "[60]"})
    replay(letter)
    plain.redis.hset(job.key, "status", "scheduled")

    look()

    letter.refresh_from_db()
    assert letter.state == "replaying"


def test_our_own_watch_leaves_it_alone(plain: PlainRQ, both: Engine) -> None:
    letter = failed_letter(plain)
    replay(letter)
    ReplayRun.objects.update(check_at=timezone.now() - timedelta(days=1))

    assert watch(both) == 0

    letter.refresh_from_db()
    assert letter.state == "replaying"


def test_the_audit_says_who_replayed_it(plain: PlainRQ) -> None:
    letter = failed_letter(plain)
    run = replay(letter)

    entry = AuditEntry.objects.get(action="letter.replay")
    assert (entry.target_id, entry.after) == (str(letter.pk), {"state": "replaying", "job": run.job_id})
