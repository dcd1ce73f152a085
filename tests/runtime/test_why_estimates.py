"""When a job may start: from rates and from what was measured, never further away because somebody looks again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobops.engine.client import Engine
from jobops.engine.keys import average_field
from jobops.engine.rates import Rate
from jobops.engine.records import Policy
from jobops.engine.why_facts import Holder, Limits, WhyFacts
from jobops.runtime.why_estimate import measured
from jobops.runtime.why_places import by_places, by_rate
from tests.runtime import announced, factory
from tests.runtime.factory import claim
from tests.runtime.test_why_waiting import policy, put, told

pytestmark = pytest.mark.django_db(transaction=True)
HOUR_MS, MINUTE_MS = 3_600_000, 60_000
NOW = 1_000_000


def holder(since_ms: int, usual_ms: float | None = 10_000, timeout_ms: int = 60_000) -> Holder:
    return Holder("j", "w", since_ms, "acme", "t", usual_ms, timeout_ms)


def usual(engine: Engine, ms: float) -> None:
    engine.redis.hset(engine.keys.cell(), average_field("tests.echo"), ms)


def placed(now: float, since: list[int], *, allowed: int = 2, before: int = 0, **more: object) -> float | None:
    holders = [holder(each) for each in since]
    found = by_places(
        now, running=len(since), allowed=allowed, holders=holders, before=before, usual_ms=10_000, **more  # type: ignore[arg-type]
    )  # fmt: skip
    return found.at_ms


def test_a_place_comes_free_when_the_first_holder_has_run_as_long_as_usual() -> None:
    assert placed(NOW, [NOW - 8_000, NOW - 3_000]) == NOW + 2_000
    assert placed(NOW, [NOW - 8_000, NOW - 3_000], before=1) == NOW + 7_000
    assert placed(NOW, [NOW - 8_000, NOW - 3_000], before=2) == NOW + 12_000


@pytest.mark.parametrize("later_ms", [0, 500, 1_900])
def test_an_estimate_stands_still_while_nothing_happens(later_ms: int) -> None:
    assert placed(NOW + later_ms, [NOW - 8_000, NOW - 3_000], before=4) == NOW + 22_000


def test_once_all_holders_run_longer_than_usual_it_is_unknown_and_their_time_out_is_told() -> None:
    found = by_places(
        NOW, running=1, allowed=1, holders=[holder(NOW - 11_000, timeout_ms=60_000)], before=0, usual_ms=10_000
    )
    last = datetime.fromtimestamp((NOW + 49_000) / 1000, UTC)
    assert found.at_ms is None
    assert found.how == (
        f"unknown: the job that holds it has run longer than usual (10.0s); it times out at {last:%H:%M:%S} UTC "
        "at the latest"
    )


def test_one_that_runs_longer_than_usual_is_not_counted_on() -> None:
    assert placed(NOW, [NOW - 60_000, NOW - 4_000]) == NOW + 6_000


def test_after_a_lowering_so_many_places_are_not_given_again() -> None:
    assert placed(NOW, [NOW - 8_000, NOW - 5_000, NOW - 1_000], allowed=1) == NOW + 9_000


def test_free_places_are_taken_at_once_when_the_brake_is_off() -> None:
    assert placed(NOW, [NOW - 8_000], before=0, opens_ms=NOW + 70_000) == NOW + 70_000
    assert placed(NOW, [NOW - 8_000], before=3, opens_ms=NOW + 70_000) == NOW + 80_000


def test_more_holders_than_are_known_are_taken_to_be_like_those() -> None:
    holders = [holder(NOW - 1_000 * n) for n in range(10)]
    found = by_places(NOW, running=100, allowed=100, holders=holders, before=100, usual_ms=10_000)
    assert found.at_ms == NOW + 11_000


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"allowed": 0}, "as long as the limit is 0 nothing starts"),
        ({"holders": [holder(NOW, None)]}, "how long such jobs run was not measured yet"),
    ],
)
def test_what_cannot_be_known_is_said(fields: dict[str, object], why: str) -> None:
    values: dict[str, object] = {
        "running": 1, "allowed": 1, "holders": [holder(NOW)], "before": 0, "usual_ms": 10.0,
    }  # fmt: skip
    found = by_places(NOW, **(values | fields))  # type: ignore[arg-type]
    assert (found.at_ms, found.how) == (None, f"unknown: {why}")


def test_a_rate_and_the_place_in_line_say_when() -> None:
    limits = Limits(None, 50, 1_000, 0.5, NOW + 10)
    assert by_rate(NOW, limits, 0).at_ms == NOW + 10
    assert by_rate(NOW, limits, 100).at_ms == NOW + 2_010
    assert by_rate(NOW, limits, 100).how == "from the rate of 50/s and the 100 starts before its own"


def test_a_job_behind_others_at_a_rate_starts_when_theirs_are_over(both: Engine) -> None:
    factory.tenant("rival")
    announced.worker(both)
    both.scripts.set_limit("stripe", None, Rate(1, HOUR_MS))
    put(resource="stripe")
    assert claim(both) is not None
    taken = datetime.now(UTC)
    put(tenant="rival", resource="stripe")
    jobs = put(3, resource="stripe")
    assert claim(both) is None
    starts = [told(job).expected_start for job in jobs]
    # Its own first one comes before the other tenant's by name, then they take turns.
    for start, hours in zip(starts, (1, 3, 4), strict=True):
        assert start is not None
        assert start - taken == timedelta(hours=hours) or abs(start - taken - timedelta(hours=hours)).seconds < 30
    assert told(jobs[2]).estimate == "from the rate of 1/h and the 3 starts before its own"


def test_a_tenants_rate_counts_who_is_before_it_in_its_queues(both: Engine) -> None:
    announced.worker(both)
    both.scripts.set_policy(Policy("acme", version=2**52, cap=None, rate=Rate(1, HOUR_MS)))
    put()
    assert claim(both) is not None
    now = datetime.now(UTC)
    put(lane="bulk")
    jobs = put(2)
    start = told(jobs[1]).expected_start
    assert start is not None
    assert abs(start - now - timedelta(hours=3)) < timedelta(seconds=30)


def test_at_a_cap_it_is_reckoned_from_the_run_times_of_those_that_hold_it(both: Engine) -> None:
    announced.worker(both)
    policy(both, cap=1)
    usual(both, 20_000)
    (running, *waiting) = put(3)
    assert claim(both) is not None
    lease = both.scripts.why(running).lease
    assert lease is not None
    started = datetime.fromtimestamp(lease.started_ms / 1000, UTC)
    looks = [told(waiting[1]).expected_start for _ in range(3)]
    assert looks == [started + timedelta(seconds=40)] * 3, "it does not recede from who looks"
    assert told(waiting[1]).estimate == "from the usual run time of those that hold it (20.0s) and the 1 before it"


def test_at_a_full_resource_too(both: Engine) -> None:
    announced.worker(both)
    both.scripts.set_limit("stripe", 1, None)
    usual(both, 20_000)
    (running, *waiting) = put(3, resource="stripe")
    assert claim(both) is not None
    assert claim(both) is None
    lease = both.scripts.why(running).lease
    assert lease is not None
    for place, job in enumerate(waiting, 1):
        assert told(job).expected_start == datetime.fromtimestamp((lease.started_ms + place * 20_000) / 1000, UTC)


def test_at_a_cap_where_jobs_start_less_often_than_their_run_times_would_have_it(both: Engine) -> None:
    """Its slots are shared with other tenants: the slower of both is told."""
    announced.worker(both)
    policy(both, cap=1)
    usual(both, 20)
    now_ms = both.scripts.now_ms()
    for back in range(5):
        both.redis.hset(both.keys.minute(now_ms // MINUTE_MS - back, "tenant"), "acme|starts", 12)
    jobs = put(42)
    assert claim(both) is not None
    found = told(jobs[41])
    assert found.expected_start is not None
    assert (found.expected_start - found.read_at).total_seconds() > 60
    assert "starts a minute over" in found.estimate


# -- from starts -------------------------------------------------------------------------------------------------------


def started(*starts: int, now_ms: int = 100 * MINUTE_MS + 30_000) -> WhyFacts:
    return WhyFacts(now_ms, {}, None, "", starts=starts)


def test_starts_are_measured_from_the_first_to_the_last_of_them() -> None:
    """A silence since does not make a tenant's jobs slower and slower: it makes the next start unknown."""
    assert measured(started(30)) == (1.0, 100 * MINUTE_MS + 30_000, 1)
    assert measured(started(30, 60)) == (1.0, 100 * MINUTE_MS + 30_000, 2)
    assert measured(started(0, 0, 60, 60)) == (1.0, 99 * MINUTE_MS, 2)
    assert measured(started(0, 0)) == (0.0, 0.0, 0)


def test_when_it_starts_is_reckoned_from_the_starts_that_were_measured(both: Engine) -> None:
    announced.worker(both)
    now_ms = both.scripts.now_ms()
    for back in range(5):
        both.redis.hset(both.keys.minute(now_ms // MINUTE_MS - back, "tenant"), "acme|starts", 12)
    jobs = put(41)
    found = told(jobs[40])
    assert found.expected_start is not None
    per_s = 60 / (4 * 60 + now_ms / 1000 % 60)
    assert (found.expected_start - found.read_at).total_seconds() == pytest.approx(41 / per_s, abs=15)
    assert "starts a minute over" in found.estimate


def test_when_none_started_for_longer_than_usual_it_is_unknown(both: Engine) -> None:
    announced.worker(both)
    minute = both.scripts.now_ms() // MINUTE_MS
    both.redis.hset(both.keys.minute(minute - 4, "tenant"), "acme|starts", 60)
    found = told(put(2)[1])
    assert found.expected_start is None
    assert found.estimate.startswith("unknown: its tenant’s jobs started at 60 a minute, and none for ")


def test_when_nothing_was_measured_that_is_said(both: Engine) -> None:
    announced.worker(both)
    found = told(put(2)[1])
    assert found.expected_start is None
    assert found.estimate == "unknown: none of its tenant’s jobs started in the last 10 minutes"
