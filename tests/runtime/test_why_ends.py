"""What is said of jobs that run or have ended, and of those that nobody knows."""

from __future__ import annotations

import pytest

from dlq.models import DeadLetter, ReplayRun
from dlq.services import letter_replay
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import enqueuer
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind, Link
from jobops.scheduling.duties import Context
from jobops.steward import intake
from tests.engine.helpers import expire
from tests.runtime import factory
from tests.runtime.factory import claim, new_job, run_all, settle
from tests.runtime.test_why_waiting import kinds, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_running_job_says_by_whom_since_when_and_until_when(both: Engine) -> None:
    (job,) = put()
    claim(both)
    running = reason(job, Kind.RUNNING)
    assert running.text == "It is running on w1: attempt 1 of 3, last heartbeat 0 s ago."
    assert running.since is not None
    assert running.until is not None
    assert (running.until - running.since).total_seconds() == pytest.approx(30, abs=1)
    assert running.times_out_at is not None
    lease = both.scripts.why(job).lease
    assert lease is not None
    assert (running.times_out_at - running.since).total_seconds() == lease.timeout_ms / 1000
    found = told(job)
    assert (found.state, found.actions, found.expected_start) == ("started", ("stop",), None)


@pytest.mark.parametrize(
    ("note", "by", "rest"),
    [
        ("stopped by anna: wrong file.", "anna", ": wrong file."),
        ("stopped by command:anna", "command:anna", "."),
        ("stopped by command:anna: a: b", "command:anna", ": a: b."),
        ("the disk is full", "", ": the disk is full."),
        ("", "", "."),
    ],
)
def test_a_job_that_somebody_stops_says_by_whom_and_says_it_once(both: Engine, note: str, by: str, rest: str) -> None:
    (job,) = put()
    running = claim(both)
    assert running is not None
    whom = f" by {by}" if by else ""
    both.scripts.stop(job, retry=True, note=note)
    assert told(job).headline == f"It is being stopped{whom}, to be run again{rest}"
    both.scripts.stop(job, note=note)
    assert told(job).headline == f"It is being stopped{whom}{rest}"
    assert (told(job).reasons[0].by, kinds(job)) == (by, [Kind.STOPPING, Kind.RUNNING])
    settle(both, running, Outcome.failed("error", "E", "e"))
    assert told(job).headline == f"It was stopped{whom} while it ran{rest}"


def test_a_running_job_whose_worker_is_not_heard_of(both: Engine) -> None:
    (job,) = put()
    claim(both)
    expire(both, job)
    assert reason(job, Kind.LEASE_LOST).text == (
        "Its worker w1 has not been heard of: attempt 1 of 3 is lost, and the job goes on in a moment."
    )
    both.redis.delete(both.keys.lease(job))
    assert "no lease speaks for it" in told(job).headline


def test_jobs_that_ended_say_how(both: Engine) -> None:
    (done,) = put()
    run_all(both)
    (dropped,) = put()
    run_all(both, Outcome.discarded("Gone", "410"))
    cancelled, _ = put(2)
    both.scripts.cancel(cancelled)
    assert [told(job).headline for job in (done, dropped, cancelled)] == [
        "It succeeded.",
        "It ended without success, as its contract allows.",
        "It was cancelled before it ran.",
    ]
    assert told(done).reasons[0].since is not None
    assert (told(done).actions, told(done).expected_start) == ((), None)


def test_a_replay_says_of_which_letter(both: Engine) -> None:
    (job,) = put(max_attempts=1)
    run_all(both, Outcome.failed("poison", "E", "e"))
    intake.run(Context(both))
    letter = DeadLetter.objects.get()
    letter_replay(letter_id=letter.pk, by="command:anna")
    run = ReplayRun.objects.get()
    replay = reason(run.job_id, Kind.REPLAY_OF)
    assert replay.text == f"It is replay 1 of dead letter {letter.pk}."
    assert replay.link == Link("letter", str(letter.pk))
    assert told(job).actions == ()


def test_a_coalesced_job_says_into_which(both: Engine) -> None:
    first = enqueuer().enqueue(new_job(key="k"))
    second = new_job(key="k")
    both.scripts.enqueue(second)
    joined = reason(second.id, Kind.COALESCED)
    assert joined.text == f"It became part of job {first.id}, which had the same key and was alive."
    assert joined.link == Link("job", first.id)


def test_of_what_is_not_kept_nothing_is_made_up(both: Engine) -> None:
    assert why("nothing") is None


def test_another_tenants_job_is_nothing(both: Engine) -> None:
    """I9"""
    factory.tenant("rival")
    (job,) = put()
    assert why(job, tenant="rival") is None
    assert why(job, tenant="acme") is not None


def test_whatever_a_record_holds_there_is_an_answer(both: Engine) -> None:
    """PX-07"""
    worst = {
        "a": {"status": b"\xff", "jo_tenant": "acme", "jo_lane": "bulk"},
        "b": {"status": "queued", "jo_tenant": "acme"},
        "c": {"status": "scheduled", "jo_tenant": "acme", "jo_lane": "bulk", "jo_due": "nan", "attempt:1": b"\xff"},
        "d": {"status": "started", "jo_tenant": b"\xff\xfe", "jo_lane": "bulk"},
        "e": {"status": "failed", "jo_tenant": "acme", "jo_lane": "bulk", "data": b"\x80\x04", "jo_error": b"a\0b"},
        "f": {"x": ""},
    }
    for name, fields in worst.items():
        both.redis.hset(f"rq:job:{name}", mapping=fields)
        assert told(name).headline, name


def test_keys_of_another_kind_are_said_to_be_that(both: Engine) -> None:
    (job,) = put()
    both.redis.delete(both.keys.tenant("acme"))
    both.redis.set(both.keys.tenant("acme"), "no hash")
    assert "Redis holds data of another form" in told(job).headline
