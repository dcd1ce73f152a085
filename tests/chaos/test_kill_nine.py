"""kill -9 of anything, at any instant, again and again: no job is lost, stuck or started too often; caps hold."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from jobops.engine.jobs import read_job
from jobops.engine.payload import encode
from jobops.engine.records import JobView, NewJob, Policy
from jobops.engine.worker_views import read_supervisors
from tests.chaos.theatre import Theatre
from tests.chaos.verdict import Line, count_lines, peaks, read_lines, runs, starts
from tests.conftest import LANES
from tests.runtime.processes import database_url
from tests.tools import wait_for

JOBS = 2000
TENANTS = [f"tenant-{n}" for n in range(10)]
CAPS = {tenant: 1 + n % 3 for n, tenant in enumerate(TENANTS)}
KILLS = ["slot", "supervisor", "scheduler", "redis", "slot", "machine"] * 4
MAX_ATTEMPTS = {"chaos.work": 5, "chaos.stumble": 5, "chaos.fail": 3, "chaos.crash": 2, "chaos.endure": 15}
WEIGHTS = [90, 7.5, 1.5, 0.5, 0.5]
SECONDS = {"chaos.work": (0.01, 0.06), "chaos.endure": (2.0, 4.0)}


def make_jobs(chance: random.Random) -> list[NewJob]:
    """Mostly ordinary work; some fail once, a few always, a few kill their process, a few outlast their first lease."""
    jobs = []
    for number in range(JOBS):
        kind = chance.choices(list(MAX_ATTEMPTS), weights=WEIGHTS)[0]
        arguments = {"seconds": round(chance.uniform(*SECONDS[kind]), 4)} if kind in SECONDS else {}
        jobs.append(
            NewJob(
                id=f"{kind.removeprefix('chaos.')}-{number}",
                tenant=chance.choice(TENANTS),
                lane=chance.choice(["interactive", "bulk"]),
                job_type=kind,
                data=encode(kind, (), arguments),
                max_attempts=MAX_ATTEMPTS[kind],
                timeout_ms=20_000,
                lease_ms=3000,
                delay_ms=chance.choice([0, 0, 0, 500, 3000]),
            )
        )
    return jobs


@pytest.fixture
def environment(transactional_db: None, own_redis: EmbeddedRedis, tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "jobops.settings",
        "DATABASE_URL": database_url(),
        "JOBOPS_REDIS_URL": own_redis.url,
        "JOBOPS_JOB_MODULES": "tests.chaos.jobs",
        "JOBOPS_LEASE_SECONDS": "3",
        "JOBOPS_HEARTBEAT_SECONDS": "0.5",
        "JOBOPS_LOG_LEVEL": "INFO",
        "JOBOPS_TEST_MARKS": str(tmp_path / "marks"),
    }


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_whatever_is_killed(
    own_redis: EmbeddedRedis, environment: dict[str, str], tmp_path: Path
) -> None:
    seed = int(os.environ.get("CHAOS_SEED", "0")) or random.randrange(10**6)
    print(f"CHAOS_SEED={seed}")
    chance = random.Random(seed)
    engine = Engine(connect(own_redis.url), lanes=LANES)
    engine.prepare()
    for tenant in TENANTS:
        engine.scripts.set_policy(Policy(tenant, cap=CAPS[tenant]))
    jobs = make_jobs(chance)
    engine.scripts.enqueue_many(jobs)

    marks = tmp_path / "marks"
    theatre = Theatre(own_redis, environment, tmp_path, chance)
    try:
        for number, kill in enumerate(KILLS):
            # At even steps of the work, so that it is under way at each kill however fast the machine is.
            so_far = 2 * JOBS * number // (len(KILLS) + 2)
            wait_for(lambda so_far=so_far: count_lines(marks) > so_far, seconds=60, what=f"{so_far} lines")
            time.sleep(chance.uniform(0, 0.3))
            theatre.act(kill)
        last_kill = time.monotonic_ns()
        wait_for(lambda: is_over(engine, jobs), seconds=120, what="the end of all jobs")
        # A process that is just starting has no ear yet for the signal that ends it in good order.
        wait_for(lambda: are_both_up(theatre, engine), seconds=30, what="both workers")
    finally:
        codes = theatre.close()
    assert codes == [0, 0, 0], [service.log.read_text()[-2000:] for service in theatre.services]
    views = {job.id: read_job(engine, job.id) for job in jobs}
    lines = read_lines(marks)
    after = sum(line.at > last_kill for line in lines)
    print(f"{len(lines)} lines, {after} of them after the last kill")
    assert after > 20, "the jobs had ended before the kills"
    judge(jobs, views, theatre, lines)
    assert_nothing_is_left(engine)


def are_both_up(theatre: Theatre, engine: Engine) -> bool:
    theatre.keep_up()
    return [worker.state for worker in read_supervisors(engine)] == ["running", "running"]


def is_over(engine: Engine, jobs: list[NewJob]) -> bool:
    """Whether every job has ended; asked in one round trip."""
    try:
        with engine.redis.pipeline(transaction=False) as pipe:
            for job in jobs:
                pipe.hget(f"rq:job:{job.id}", "status")
            states = Counter(pipe.execute())
    except RedisConnectionError:
        return False
    time.sleep(0.2)
    return not set(states) - {b"finished", b"failed"}


def judge(jobs: list[NewJob], views: dict[str, JobView | None], theatre: Theatre, lines: list[Line]) -> None:
    started = starts(lines)
    ended = {line.job for line in lines if line.word == "end"}
    states = Counter((job.job_type, view.state if (view := views[job.id]) else "lost") for job in jobs)
    print(states, theatre.acts)

    for job in jobs:
        view, numbers = views[job.id], started.get(job.id, [])
        assert view is not None, f"{job.id} is lost"
        assert view.state in ("succeeded", "dead"), f"{job.id} is stuck as {view.state}"
        assert (job.id in ended) or view.state == "dead", f"{job.id} succeeded without having run to its end"
        assert numbers == sorted(set(numbers)), f"{job.id} started its attempts {numbers}"
        assert len(numbers) <= job.max_attempts, f"{job.id} started {len(numbers)} times"
        assert view.attempts <= job.max_attempts
        if job.job_type in ("chaos.fail", "chaos.crash"):
            assert view.state == "dead"
    # So many attempts are not used up by a few kills.
    assert {kind for kind, state in states if state == "dead"} <= {"chaos.fail", "chaos.crash"}

    for tenant, peak in peaks(runs(lines, theatre.killed)).items():
        assert peak <= CAPS[tenant], f"{tenant} ran {peak} at once, its cap is {CAPS[tenant]}"


def assert_nothing_is_left(engine: Engine) -> None:
    """No lease, nothing in flight, nothing waiting."""
    redis, keys = engine.redis, engine.keys
    assert redis.zcard(keys.leases()) == 0
    for tenant in TENANTS:
        assert redis.zcard(keys.inflight(tenant)) == 0
        for lane in LANES:
            assert redis.llen(f"rq:queue:{tenant}.{lane}") == redis.zcard(f"rq:wip:{tenant}.{lane}") == 0
    assert redis.zcard("rq:scheduler:scheduled_jobs") == 0
    assert redis.scard("rq:workers") == 0
