"""A lane that was taken out of the settings while jobs wait in it can be worked off."""

from __future__ import annotations

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import encode
from tests.runtime.factory import new_job
from tests.runtime.processes import run

pytestmark = pytest.mark.django_db(transaction=True)
MODULES = {"JOBOPS_JOB_MODULES": "tests.runtime.example_jobs"}


def state_of(engine: Engine, job_id: str) -> str:
    view = read_job(engine, job_id)
    assert view is not None
    return view.state


def test_a_worker_that_is_told_to_serves_a_lane_that_only_redis_knows(both: Engine) -> None:
    both.scripts.set_lanes({"former": 1.0})
    data = encode("tests.child", (), {"slug": "acme"})
    job_id = both.scripts.enqueue(new_job(lane="former", job_type="tests.child", data=data)).id
    assert run("worker", "--burst", **MODULES).returncode == 0
    assert state_of(both, job_id) == "queued", "nobody serves its lane unasked"
    done = run("worker", "--burst", "--lanes", "former", **MODULES)
    assert done.returncode == 0, done.stderr
    assert "serving former, which JOBOPS_LANES no longer names" in done.stderr
    assert state_of(both, job_id) == "succeeded"
    refused = run("worker", "--burst", "--lanes", "neverheard", **MODULES)
    assert refused.returncode == 2
    assert "there are interactive, bulk, former" in refused.stderr
