"""Why a job waits for a time: backing off, delayed, in the outbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone
from redis.exceptions import RedisError

from jobops.context import outbox
from jobops.context.models import OutboxEntry, OutboxHold
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind
from tests.runtime.announced import worker
from tests.runtime.conftest import Outage
from tests.runtime.factory import new_job, run_all
from tests.runtime.test_why_waiting import kinds, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS = 3_600_000


def row(**fields: object) -> str:
    return outbox.write([new_job(**fields)])[0].id


def test_a_job_that_backs_off_says_until_when_after_what(both: Engine) -> None:
    worker(both)
    (job,) = put(max_attempts=5, data=encode("tests.echo", (), {"token": "s3cret-value"}))
    run_all(both, Outcome.failed("error", "HTTPError", "503 with s3cret-value", delay_ms=HOUR_MS))
    off = reason(job, Kind.BACKING_OFF)
    assert off.text == f"It backs off before attempt 2 of 5: HTTPError: 503 with {DOTS}."
    assert off.until is not None
    assert abs(off.until - datetime.now(UTC) - timedelta(hours=1)) < timedelta(seconds=30)
    found = told(job)
    assert (found.state, found.actions, found.expected_start) == ("scheduled", ("run now",), off.until)


def test_a_job_that_was_asked_to_start_later(both: Engine) -> None:
    worker(both)
    (job,) = put(delay_ms=HOUR_MS)
    found = told(job)
    assert [each.kind for each in found.reasons] == [Kind.DELAYED]
    assert (found.headline, found.actions) == ("It was asked to start later.", ("run now",))
    assert found.expected_start == found.reasons[0].until


def test_a_due_job_that_nobody_moves(both: Engine) -> None:
    """RT-05: neither scheduler nor worker is there."""
    (job,) = put(delay_ms=HOUR_MS)
    both.redis.zadd("rq:scheduler:scheduled_jobs", {job: 1})
    still = reason(job, Kind.NO_MOVER)
    assert still.text == "It is due, and no scheduler and no worker moves due jobs to their queues."
    assert told(job).expected_start is None
    both.redis.hset(both.keys.cell(), "promote_tick", both.scripts.now_ms())
    assert kinds(job) == [Kind.NO_WORKER, Kind.DELAYED]


def test_a_row_in_the_outbox_is_on_its_way(both: Engine) -> None:
    found = told(row())
    assert (found.state, [each.kind for each in found.reasons]) == ("outbox", [Kind.OUTBOX])
    assert found.reasons[0].since == OutboxEntry.objects.get().created_at


@pytest.mark.parametrize(
    ("error", "words"), [("DepthExceeded", "it is at its depth limit"), ("IntakeClosed", "its intake is closed")]
)
def test_a_held_outbox_says_what_for_and_until_when(both: Engine, error: str, words: str) -> None:
    job, now = row(), timezone.now()
    until = now + timedelta(seconds=20)
    OutboxHold.objects.create(tenant="acme", until=until, refusals=3, reason=error, since=now)
    held = reason(job, Kind.OUTBOX_HELD)
    assert held.text == f"It waits in the outbox: Redis takes no jobs of its tenant acme, as {words}."
    assert (held.since, held.until, told(job).expected_start) == (now, until, until)


def test_a_refused_row_says_when_it_is_tried_again(both: Engine) -> None:
    job, later = row(), timezone.now() + timedelta(minutes=4)
    OutboxEntry.objects.update(attempts=3, last_error="NotTaken: acme.bulk: OOM", next_try_at=later)
    refused = reason(job, Kind.OUTBOX_REFUSED)
    assert refused.text == "It waits in the outbox: Redis refused it 3 times: NotTaken: acme.bulk: OOM."
    assert refused.until == later


@pytest.mark.parametrize(
    ("parked_as", "words"),
    [
        ("refused", "refused again and again"),
        ("outcome_unknown", "pushed long ago, and nobody knows whether it arrived"),
    ],
)
def test_a_parked_row_says_as_what(both: Engine, parked_as: str, words: str) -> None:
    """OB-05"""
    job = row()
    OutboxEntry.objects.update(state="parked", parked_as=parked_as, last_error="UnknownTenant: acme")
    parked = reason(job, Kind.OUTBOX_PARKED)
    assert parked.text == f"It is parked in the outbox, {words}: UnknownTenant: acme."
    assert (told(job).actions, told(job).expected_start) == (("unpark",), None)


def test_a_delayed_row_says_until_when_too(both: Engine) -> None:
    due = both.scripts.now_ms() + HOUR_MS
    job = row(due_at_ms=due)
    assert kinds(job) == [Kind.OUTBOX, Kind.DELAYED]
    assert told(job).expected_start == datetime.fromtimestamp(due / 1000, UTC)
    assert told(job).actions == ("run now",)


def test_while_redis_is_away_the_outbox_still_answers(outage: Outage) -> None:
    job = row()
    outage.begin()
    assert told(job).reasons[0].text == (
        "Redis cannot be reached; the job is safe in the outbox and goes on when Redis is back."
    )
    assert kinds(job) == [Kind.REDIS_AWAY]
    with pytest.raises(RedisError):
        why("what is not in the outbox")
