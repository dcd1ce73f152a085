"""Why a job waits when something is wrong with the workers."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.registrations import mark_lost, request_drain, supervisors_key, types_digest
from jobops.runtime.why_records import Kind
from tests.runtime.announced import HEARTBEAT_MS, worker
from tests.runtime.test_why_waiting import kinds, put, reason, told

pytestmark = pytest.mark.django_db(transaction=True)


def test_no_worker_at_all(both: Engine) -> None:
    (job,) = put()
    assert told(job).headline == "No worker is running."
    assert told(job).actions == ("start worker",)


def test_no_worker_that_serves_its_lane(both: Engine) -> None:
    worker(both, lanes=("bulk",))
    (job,) = put()
    assert reason(job, Kind.NO_WORKER).text == "No living worker serves the lane interactive."
    worker(both, "other-0a1b2c3d", lanes=("interactive",))
    assert Kind.NO_WORKER not in kinds(job)


def test_a_worker_that_is_lost_serves_nobody(both: Engine) -> None:
    worker(both)
    (job,) = put()
    assert Kind.NO_WORKER not in kinds(job)
    mark_lost(both, "host-0a1b2c3d")
    assert reason(job, Kind.NO_WORKER).text == "No worker has reported lately."
    worker(both)
    late = both.scripts.now_ms() - 2 * HEARTBEAT_MS - 1_000
    both.redis.zadd(supervisors_key(both.keys), {"host-0a1b2c3d": late})
    assert Kind.NO_WORKER in kinds(job)


def test_a_worker_that_drains_takes_no_more(both: Engine) -> None:
    worker(both)
    (job,) = put()
    request_drain(both, "host-0a1b2c3d")
    text = "All workers that serve the lane interactive are draining: they take no more jobs."
    assert reason(job, Kind.NO_WORKER).text == text
    worker(both, draining=True)
    assert Kind.NO_WORKER in kinds(job)


def test_a_type_that_no_living_worker_knows(both: Engine) -> None:
    """LS-12: pool 1 lacks job type X; X waits for pool 2."""
    worker(both, "one-0a1b2c3d", job_types=frozenset({"tests.other"}))
    (job,) = put()
    unknown = reason(job, Kind.TYPE_UNKNOWN)
    assert unknown.text == "The worker that serves the lane interactive does not know the job type tests.echo."
    assert told(job).actions[0] == "deploy worker"
    assert told(job).expected_start is None
    worker(both, "two-0a1b2c3d", job_types=frozenset({"tests.more"}))
    assert reason(job, Kind.TYPE_UNKNOWN).text.startswith("None of the 2 workers that serve the lane interactive knows")
    worker(both, "two-0a1b2c3d", job_types=frozenset({"tests.echo"}))
    assert Kind.TYPE_UNKNOWN not in kinds(job)
    mark_lost(both, "two-0a1b2c3d")
    assert Kind.TYPE_UNKNOWN in kinds(job)


def test_a_worker_that_says_nothing_of_its_types_may_know_it(both: Engine) -> None:
    """One of the release before, while others are replaced."""
    worker(both, "one-0a1b2c3d", job_types=frozenset({"tests.other"}))
    worker(both, "two-0a1b2c3d")
    assert Kind.TYPE_UNKNOWN not in kinds(put()[0])


def test_workers_with_the_same_code_share_one_list_of_types(both: Engine) -> None:
    types = frozenset(f"tests.{n}" for n in range(300))
    for n in range(5):
        worker(both, f"host-0a1b2c3{n}", job_types=types)
    assert len(list(both.redis.scan_iter("jobops:types:*"))) == 1
    assert both.redis.ttl(both.keys.types(types_digest(types))) > 0
