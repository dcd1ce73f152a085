"""Worker time is shared as the bounds say: real scripts, virtual clock."""

from __future__ import annotations

from collections import defaultdict

import pytest

from jobops.engine.client import Engine
from jobops.engine.records import NewJob, Policy
from tests.engine.virtual_time import simulate, virtual

LANES = ["interactive", "bulk"]


def fill(engine: Engine, tenant: str, job_type: str, count: int, lane: str = "bulk", prefix: str = "") -> None:
    data = b'["t",null,[],{}]'
    engine.scripts.enqueue_many(
        [NewJob(f"{prefix}{tenant}-{lane}-{n}", tenant, lane, job_type, data, lease_ms=10**9) for n in range(count)]
    )


def worker_time(engine: Engine, slots: int, until: float, durations: dict[str, float]) -> dict[str, float]:
    used: dict[str, float] = defaultdict(float)
    for start, end, job in simulate(
        engine, slots=slots, until_ms=until, run_ms=lambda job: durations[job.job_type], lanes=LANES
    ):
        used[job.tenant] += min(end, until) - start
    return used


@pytest.mark.parametrize(("long_ms", "until", "short_jobs"), [(2_000.0, 40_000.0, 10_000), (5_000.0, 40_000.0, 9_000)])
def test_equal_weights_get_equal_worker_time_whatever_their_jobs_length(
    engine: Engine, long_ms: float, until: float, short_jobs: int
) -> None:
    engine = virtual(engine)
    for slug in ("long", "short"):
        engine.scripts.set_policy(Policy(slug, cap=None))
    fill(engine, "long", "t.long", 200)
    fill(engine, "short", "t.short", short_jobs)
    used = worker_time(engine, 4, until, {"t.long": long_ms, "t.short": 10.0})
    assert min(used["long"], used["short"]) > 0
    assert abs(used["long"] - used["short"]) <= 4 * (long_ms + 10.0)


def test_weights_share_worker_time_in_their_ratio(engine: Engine) -> None:
    engine = virtual(engine)
    weights = {"one": 1.0, "two": 2.0, "five": 5.0}
    for slug, weight in weights.items():
        engine.scripts.set_policy(Policy(slug, weight=weight, cap=None))
        fill(engine, slug, "t.same", 3_000)
    used = worker_time(engine, 4, 15_000.0, {"t.same": 20.0})
    assert min(used[slug] for slug in weights) > 0
    for slug, weight in weights.items():
        for other, other_weight in weights.items():
            bound = 4 * (20.0 / weight + 20.0 / other_weight)
            assert abs(used[slug] / weight - used[other] / other_weight) <= bound


def test_lanes_share_worker_time_by_their_shares(engine: Engine) -> None:
    engine = virtual(engine)
    engine.scripts.set_policy(Policy("acme", cap=None))
    fill(engine, "acme", "t.same", 3_000, lane="interactive")
    fill(engine, "acme", "t.same", 3_000, lane="bulk")
    used: dict[str, float] = defaultdict(float)
    for start, end, job in simulate(engine, slots=4, until_ms=10_000, run_ms=lambda job: 20.0, lanes=LANES):
        used[job.lane] += end - start
    assert used["interactive"] / used["bulk"] == pytest.approx(4.0, rel=0.05)


def test_a_flood_delays_nobody_else_cc_12_cc_13(engine: Engine) -> None:
    """CC-12, CC-13: 5,000 jobs of one tenant; each of 20 others starts its one job within three short runs."""
    engine = virtual(engine)
    engine.scripts.set_policy(Policy("flood", cap=None))
    fill(engine, "flood", "t.flood", 5_000)
    others = [f"quiet-{n}" for n in range(20)]
    for slug in others:
        engine.scripts.set_policy(Policy(slug, cap=None))
    arrived, waits = False, {}
    for start, _end, job in simulate(
        engine, slots=4, until_ms=3_000, run_ms=lambda j: 10.0 if j.tenant == "flood" else 5.0, lanes=LANES
    ):
        if start >= 1_000 and not arrived:
            arrived = True
            for slug in others:
                fill(engine, slug, "t.quiet", 1)
        if job.tenant != "flood":
            waits[job.tenant] = start - 1_000
    assert len(waits) == 20
    assert sorted(waits.values())[10] <= 20
    assert max(waits.values()) <= 45


def test_who_was_alone_all_night_owes_nobody_in_the_morning(engine: Engine) -> None:
    engine = virtual(engine)
    engine.scripts.set_policy(Policy("night", cap=None))
    fill(engine, "night", "t.same", 4_000)
    others = [f"day-{n}" for n in range(10)]
    for slug in others:
        engine.scripts.set_policy(Policy(slug, cap=None))
    morning = 20_000.0
    arrived, used = False, defaultdict(float)
    first_after: list[float] = []
    for start, end, job in simulate(engine, slots=4, until_ms=morning + 20_000, run_ms=lambda j: 50.0, lanes=LANES):
        if start >= morning and not arrived:
            arrived = True
            for slug in others:
                fill(engine, slug, "t.same", 400)
        if arrived:
            used[job.tenant] += end - start
            if job.tenant == "night" and start > morning:
                first_after.append(start - morning)
    assert first_after[0] <= 500
    assert used["night"] / sum(used.values()) == pytest.approx(1 / 11, rel=0.12)


def test_a_capped_backlog_is_passed_over_cc_04(engine: Engine) -> None:
    """CC-04: 20 slots, a tenant capped at 8 with 1,000 jobs; another's one job starts at once, the cap holds."""
    engine = virtual(engine)
    engine.scripts.set_policy(Policy("capped", cap=8))
    engine.scripts.set_policy(Policy("other", cap=None))
    fill(engine, "capped", "t.long", 1_000)
    running: list[tuple[float, float]] = []
    other_started = None
    filled = False
    for start, end, job in simulate(engine, slots=20, until_ms=5_000, run_ms=lambda j: 1_000.0, lanes=LANES):
        if job.tenant == "capped":
            running = [(s, e) for s, e in running if e > start] + [(start, end)]
            assert len(running) <= 8
        else:
            other_started = start
        if start >= 2_000 and not filled:
            filled = True
            fill(engine, "other", "t.long", 1)
    assert other_started is not None
    assert other_started <= 2_050
