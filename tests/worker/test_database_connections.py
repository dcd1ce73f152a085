"""Database connections of a worker: none crosses a fork, and no job inherits another one's broken transaction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import OperationalError, connection, connections

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.records import Policy
from jobops.management.connections import HOOKS, end_job, forget_inherited, leave_none_open
from tenants.models import Tenant
from tests.runtime.processes import run
from tests.tools import wait_for
from tests.worker.crew import Crew
from tests.worker.test_commands import MODULES, enqueue


def test_the_hooks_run_in_the_right_processes(crew: Crew, tmp_path: Path) -> None:
    """LS-17: before every fork in the supervisor, after it in the slot, and around each job."""
    notes = tmp_path / "notes"
    jobs = [crew.enqueue("nothing") for _ in range(3)]
    worker = crew.run_burst(hooks="noting", env={"JOBOPS_TEST_NOTES": str(notes)})
    lines = [(word, int(pid)) for word, pid in map(str.split, notes.read_text().splitlines())]
    # Two forks: the warden's and the slot's.
    assert [word for word, pid in lines if pid == worker.pid] == ["before_fork", "before_fork"]
    assert [word for word, pid in lines if pid != worker.pid] == [
        "after_fork",
        *["before_job", "after_job"] * len(jobs),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_slot_never_uses_a_connection_of_its_supervisor(engine: Engine) -> None:
    """LS-17: every job queries, in slots recycled again and again; each finds a connection of its own process."""
    engine.scripts.set_policy(Policy("acme"))
    ids = [enqueue(engine, "worker.connection", f"query-{n}") for n in range(8)]
    done = run("worker", "--burst", "--max-jobs", "2", **MODULES)
    assert done.returncode == 0, done.stderr
    views = [read_job(engine, each) for each in ids]
    assert {view.state for view in views if view} == {"succeeded"}
    results = [json.loads(view.result) for view in views if view]
    assert len({pid for pid, _ in results}) >= 4
    if connection.vendor == "postgresql":
        backends = {backend for _, backend in results}
        assert len(backends) >= 4


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_a_job_left_open_is_undone(engine: Engine) -> None:
    """LS-17: the next job in the same slot finds a connection that works."""
    engine.scripts.set_policy(Policy("acme"))
    enqueue(engine, "worker.leave_transaction", "first")
    enqueue(engine, "worker.count_tenants", "second")
    done = run("worker", "--burst", **MODULES)
    assert done.returncode == 0, done.stderr
    second = read_job(engine, "second")
    assert second is not None
    assert (second.state, second.result) == ("succeeded", b"0")
    wait_for(lambda: not Tenant.objects.filter(slug="left-open").exists(), what="the rollback")


@pytest.mark.django_db(transaction=True)
def test_the_hook_after_a_job_connects_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is away: a job that needed none has succeeded, and its slot has nothing to tidy up."""

    def away() -> None:
        raise OperationalError("the database is away")

    leave_none_open()
    monkeypatch.setattr(connection, "connect", away)
    assert connection.connection is None
    end_job()
    assert connections.all(initialized_only=True) != []


@pytest.mark.django_db(transaction=True)
def test_nothing_is_open_at_a_fork(settings: object) -> None:
    Tenant.objects.count()
    assert connection.connection is not None
    leave_none_open()
    assert all(each.connection is None for each in connections.all(initialized_only=True))
    forget_inherited()
    assert connections.all(initialized_only=True) == []
    assert Tenant.objects.count() == 0
    end_job()
    assert HOOKS.before_fork is leave_none_open
