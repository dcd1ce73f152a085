"""LS-17: a worker that used the database before it forked hands that connection to none of its slots."""

from __future__ import annotations

import json

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import Policy
from tenants.models import Tenant
from tests.runtime.processes import run
from tests.worker.test_commands import enqueue


@pytest.mark.django_db(transaction=True)
def test_five_jobs_that_save_find_connections_of_their_own(engine: Engine) -> None:
    """LS-17: two jobs to a slot, so that the supervisor forks again while jobs run."""
    engine.scripts.set_policy(Policy("acme"))
    ids = [enqueue(engine, "worker.compare", f"save-{n}", slug=f"saved-{n}") for n in range(5)]
    done = run("worker", "--burst", "--max-jobs", "2", JOBOPS_JOB_MODULES="tests.worker.connecting_jobs")
    assert done.returncode == 0, done.stderr
    views = [read_job(engine, each) for each in ids]
    assert [(view.state, view.attempts) for view in views if view] == [("succeeded", 1)] * 5
    assert [json.loads(view.result) for view in views if view] == [[False, False, False]] * 5
    assert Tenant.objects.filter(slug__startswith="saved-").count() == 5
