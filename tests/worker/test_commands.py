"""`manage.py worker` and `manage.py workers`: as operators and their scripts call them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import encode
from jobops.engine.records import NewJob, Policy
from tests.runtime.processes import run, running
from tests.tools import wait_for

pytestmark = pytest.mark.django_db(transaction=True)
MODULES = {"JOBOPS_JOB_MODULES": "tests.worker.contract_jobs"}


@pytest.fixture
def acme(engine: Engine) -> Engine:
    engine.scripts.set_policy(Policy("acme"))
    return engine


def enqueue(engine: Engine, job_type: str, job_id: str, **arguments: object) -> str:
    job = NewJob(job_id, "acme", "bulk", job_type, encode(job_type, (), arguments), lease_ms=5000, max_attempts=2)
    return engine.scripts.enqueue(job).id


@pytest.fixture
def worker(acme: Engine, tmp_path: Path) -> Iterator[Popen[bytes]]:
    with ExitStack() as stack:
        yield stack.enter_context(running(tmp_path / "worker", "worker", "--processes", "2", **MODULES))


def workers_list() -> list[dict[str, object]]:
    done = run("workers", "list", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_burst_worker_runs_jobs_of_a_job_module(acme: Engine) -> None:
    enqueue(acme, "worker.double", "one", number=21)
    enqueue(acme, "worker.count_tenants", "two")
    done = run("worker", "--burst", "--lanes", "bulk", **MODULES)
    assert done.returncode == 0, done.stderr
    views = [read_job(acme, each) for each in ("one", "two")]
    assert [(view.state, view.result) for view in views if view] == [("succeeded", b"42"), ("succeeded", b"0")]


def test_workers_are_listed_with_what_they_do_and_drained(acme: Engine, worker: Popen[bytes]) -> None:
    enqueue(acme, "worker.nap", "napping", seconds=8)
    (listed,) = wait_for(
        lambda: (found := workers_list()) and any(s["job"] == "napping" for s in found[0]["slots"]) and found,  # type: ignore[attr-defined]
        what="the busy slot",
    )
    assert listed["pid"] == worker.pid
    assert sorted(slot["state"] for slot in listed["slots"]) == ["busy", "idle"]  # type: ignore[attr-defined]
    table = run("workers", "list").stdout
    assert str(listed["id"]) in table
    assert "napping" in table
    assert run("workers", "drain", str(listed["id"])).returncode == 0
    assert worker.wait(20) == 0
    view = read_job(acme, "napping")
    assert view is not None
    assert view.state == "succeeded"
    assert workers_list() == []


def test_the_list_of_no_workers(acme: Engine) -> None:
    assert workers_list() == []
    assert "no worker runs" in run("workers", "list").stdout
    assert run("workers", "drain", "--all").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("worker", "--processes", "0"), 2, "--processes"),
        (("worker", "--lanes", "nope"), 2, "--lanes"),
        (("worker", "--drain-timeout", "-1"), 2, "--drain-timeout"),
        (("worker", "--max-memory", "0"), 2, "--max-memory"),
        (("worker", "--frobnicate"), 2, "--frobnicate"),
        (("workers",), 2, "list"),
        (("workers", "drain"), 2, "--all"),
        (("workers", "drain", "x", "--all"), 2, "--all"),
        (("workers", "drain", "nobody"), 1, "nobody"),
    ],
)
def test_wrong_usage_is_one_clear_line(acme: Engine, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_without_its_embedded_redis_says_how_to_start_it(tmp_path: Path) -> None:
    done = run("worker", "--burst", JOBOPS_REDIS_URL=f"unix://{tmp_path}/nothing.sock")
    assert done.returncode == 1
    assert "make dev" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_refuses_a_job_module_that_cannot_be_imported(acme: Engine) -> None:
    """Started nevertheless it would send that module's jobs to the dead letters."""
    done = run("worker", "--burst", JOBOPS_JOB_MODULES="tests.worker.broken_jobs")
    assert done.returncode == 1
    assert "jobops.E008" in done.stderr
