"""kill -9 of anything, at any instant, and processes that sleep past their leases: no job is lost, stuck or started too
often; caps hold, and the doctor finds nothing. `bench/chaos.py` is the same for longer."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from pytest_django import Settings

from jobops.embedded import EmbeddedRedis
from jobops.runtime import get_engine
from tests.chaos.cast import make_jobs, tenants
from tests.chaos.judgement import judge
from tests.chaos.play import Play, environment
from tests.runtime import factory
from tests.runtime.processes import database_url

JOBS = 600
SECONDS = 20.0
HARM = ["slot", "supervisor", "nap", "scheduler", "redis", "machine", "slot", "nap", "redis", "slot"]
LAST = ["outage", "supervisor", "machine", "slot", "nap", "redis", "scheduler"]


@pytest.mark.chaos
@pytest.mark.slow
@pytest.mark.timeout(420)
@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_whatever_is_killed(own_redis: EmbeddedRedis, settings: Settings, tmp_path: Path) -> None:
    seed = int(os.environ.get("CHAOS_SEED", "0")) or random.randrange(10**6)
    print(f"CHAOS_SEED={seed}")
    chance = random.Random(seed)
    settings.JOBOPS_REDIS_URL = own_redis.url
    engine = get_engine()
    engine.prepare()
    caps = tenants(10)
    for slug, cap in caps.items():
        factory.tenant(slug, cap=cap)
    variables = environment(database_url(), own_redis.url, tmp_path)
    play = Play(engine, own_redis, variables, tmp_path, chance)
    harm = [*chance.sample(HARM, len(HARM)), *LAST]
    jobs = make_jobs(chance, JOBS, list(caps))
    evidence, theatre = play.run(jobs, caps, seconds=SECONDS, workers=2, harm=harm)
    print(theatre.acts, f"{play.harmed_s:.1f} s of harm, {play.drained_s:.1f} s to drain")
    assert len({line.pid for line in evidence.lines}) > 10, "hardly anything was killed"
    assert judge(evidence) == []
