"""Why a job waits: behind others, at a cap, without a worker. Whatever holds it at this moment is said, and no more."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import Policy
from jobops.runtime import enqueuer
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind, Reason, Why
from tests.runtime import announced, factory
from tests.runtime.factory import claim, new_job, run_all

pytestmark = pytest.mark.django_db(transaction=True)
LANE = "interactive"


def told(job_id: str) -> Why:
    found = why(job_id)
    assert found is not None
    return found


def kinds(job_id: str) -> list[Kind]:
    return [reason.kind for reason in told(job_id).reasons]


def reason(job_id: str, kind: Kind) -> Reason:
    return next(each for each in told(job_id).reasons if each.kind is kind)


def put(count: int = 1, **fields: object) -> list[str]:
    return [enqueuer().enqueue(new_job(**fields)).id for _ in range(count)]


def policy(engine: Engine, **fields: object) -> None:
    """Straight into force, as a tenant's settings would."""
    engine.scripts.set_policy(Policy("acme", version=2**52, **fields))  # type: ignore[arg-type]


def test_a_job_that_nothing_holds_is_next(both: Engine) -> None:
    announced.worker(both)
    announced.idle_slot(both)
    (job,) = put()
    found = told(job)
    assert (found.state, [each.kind for each in found.reasons]) == ("queued", [Kind.NEXT])
    assert found.headline == "Nothing holds it: a worker takes it in a moment."
    assert found.expected_start is not None
    assert abs(found.expected_start - found.read_at) < timedelta(seconds=30)


def test_how_many_of_its_own_tenant_are_before_it(both: Engine) -> None:
    announced.worker(both)
    announced.idle_slot(both)
    jobs = put(3)
    put(2, lane="bulk")
    assert Kind.BEHIND not in kinds(jobs[0])
    behind = reason(jobs[2], Kind.BEHIND)
    assert (behind.count, behind.text) == (
        2,
        "2 jobs of its tenant acme are before it in the lane interactive; 2 more wait in its other lanes.",
    )


def test_other_tenants_jobs_are_not_before_it(both: Engine) -> None:
    factory.tenant("rival")
    announced.worker(both)
    put(5, tenant="rival")
    (job,) = put()
    assert Kind.BEHIND not in kinds(job)


def test_a_place_beyond_ten_thousand_is_not_counted(both: Engine) -> None:
    announced.worker(both)
    (job,) = put()
    with both.redis.pipeline() as pipe:
        for _ in range(10_001):
            pipe.lpush(f"rq:queue:acme.{LANE}", uuid4().hex)
        pipe.execute()
    assert reason(job, Kind.BEHIND).text == "Over 10,000 jobs of its tenant acme are before it in the lane interactive."


def test_a_cap_names_the_jobs_that_hold_it(both: Engine) -> None:
    announced.worker(both)
    policy(both, cap=2)
    first, second, waiting = put(3)
    for slot in ("host-0a1b2c3d-0.1", "host-0a1b2c3d-1.1"):
        assert claim(both, slot) is not None
    held = reason(waiting, Kind.TENANT_CAP)
    assert held.text == "Its tenant acme is at its cap: 2 of 2 of its jobs are running."
    assert {one.job_id for one in held.holders} == {first, second}
    assert {one.worker for one in held.holders} == {"w1"}
    assert all(abs(one.since_ms - both.scripts.now_ms()) < 30_000 for one in held.holders)
    assert (held.more, told(waiting).actions[0]) == (0, "raise cap")
    run_first = both.scripts.why(first)
    assert run_first.lease is not None
    policy(both, cap=1)
    assert "2, and 1 may, of its jobs are running" in reason(waiting, Kind.TENANT_CAP).text


def test_at_most_twenty_holders_are_named_and_how_many_more(both: Engine) -> None:
    announced.worker(both)
    policy(both, cap=25)
    put(26)
    for n in range(25):
        assert claim(both, f"s{n}") is not None
    held = reason(put()[0], Kind.TENANT_CAP)
    assert (len(held.holders), held.more, held.count) == (20, 5, 25)


def test_a_cap_of_one_lane_says_which(both: Engine) -> None:
    announced.worker(both)
    policy(both, cap=None, lane_caps={LANE: 1})
    first, waiting = put(2)
    claim(both)
    held = reason(waiting, Kind.LANE_CAP)
    assert [one.job_id for one in held.holders] == [first]
    assert "cap for the lane interactive: 1 of 1" in held.text
    assert Kind.TENANT_CAP not in kinds(waiting)
    assert Kind.LANE_CAP not in kinds(put(lane="bulk")[0])


def test_a_closed_intake_does_not_hold_what_is_in(both: Engine) -> None:
    announced.worker(both)
    announced.idle_slot(both)
    (job,) = put()
    policy(both, intake_closed=True, depth_limit=1)
    assert kinds(job) == [Kind.NEXT]


def test_a_tenant_that_was_deleted_holds_it(both: Engine) -> None:
    announced.worker(both)
    (job,) = put()
    both.scripts.drop_policy("acme")
    assert kinds(job)[0] is Kind.TENANT_GONE
    assert told(job).expected_start is None


def test_all_that_holds_it_is_said_the_strongest_first(both: Engine) -> None:
    policy(both, cap=1)
    jobs = put(3)
    claim(both)
    both.scripts.pause()
    both.scripts.pause("acme")
    assert kinds(jobs[2]) == [Kind.PAUSED, Kind.TENANT_PAUSED, Kind.NO_WORKER, Kind.TENANT_CAP, Kind.BEHIND]
    found = told(jobs[2])
    assert found.headline == found.reasons[0].text
    assert found.actions == ("resume all", "resume tenant", "start worker", "raise cap")
    assert (found.expected_start, found.estimate) == (None, "unknown: nobody can say when that is over")
    both.scripts.resume()
    both.scripts.resume("acme")
    run_all(both)


def test_busy_slots_and_whose_turn_comes_before(both: Engine) -> None:
    factory.tenant("rival")
    announced.worker(both, slots=2)
    (running,) = put()
    assert claim(both) is not None
    put(tenant="rival")
    (job,) = put()
    busy = reason(job, Kind.SLOTS_BUSY)
    assert busy.text == (
        "All 2 slots that serve the lane interactive are busy; 1 other tenant’s turn comes before its own."
    )
    assert (busy.count, running != job) == (2, True)
