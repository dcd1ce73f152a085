"""Why a job waits for a time: backing off, delayed, in the outbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobops.context import outbox
from jobops.contracts.secret_values import DOTS
from jobops.engine.client import Engine
from jobops.engine.payload import encode
from jobops.engine.records import Outcome
from jobops.runtime.why_records import Kind
from tests.runtime.announced import worker
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
