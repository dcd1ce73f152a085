"""Commands, a worker and the scheduler as processes, on both stores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobops.engine.client import Engine
from jobops.runtime import lookup
from tests.runtime.processes import run, running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)

JOBS = {"JOBOPS_JOB_MODULES": "tests.runtime.example_jobs"}


def test_enqueues_from_a_command_and_from_a_job_are_delivered(both: Engine, tmp_path: Path) -> None:
    """OB-03, OB-01: no web request is anywhere near; each child finds what was committed with it."""
    done = run("enqueue", "tests.parent", "--tenant", "acme", "--json", **JOBS)
    assert done.returncode == 0, done.stderr
    parent = json.loads(done.stdout)["id"]
    with running(tmp_path / "scheduler", "scheduler", **JOBS), running(tmp_path / "worker", "worker", **JOBS):
        ended = wait_for(
            lambda: (job := lookup(parent)) and job.state == "succeeded" and job, seconds=30, what="the parent's end"
        )
        children = json.loads(ended.result)
        for child in children:
            wait_for(
                lambda child=child: (job := lookup(child)) and job.state == "succeeded",  # type: ignore[misc]
                seconds=20,
                what="a child's end",
            )
    assert [json.loads(lookup(child).result) for child in children] == [1, 1, 1]  # type: ignore[union-attr]
    assert len(both.redis.keys("rq:job:*")) == 4, "the one that was rolled back never existed"
