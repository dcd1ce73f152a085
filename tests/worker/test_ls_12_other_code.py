"""LS-12: whoever sweeps need not know a job's type, and judges no job by what its own code lacks."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from jobops.engine.client import Engine
from jobops.engine.jobs import read_job
from jobops.engine.payload import encode
from jobops.engine.processes import is_alive
from jobops.engine.records import JobView, NewJob, Policy
from tests.runtime.processes import running
from tests.tools import wait_for
from tests.worker.test_commands import MODULES

pytestmark = pytest.mark.django_db(transaction=True)
LACKING = {"JOBOPS_JOB_MODULES": "tests.runtime.factory", "JOBOPS_HEARTBEAT_SECONDS": "0.5"}


def view_of(engine: Engine) -> JobView:
    view = read_job(engine, "theirs")
    assert view is not None
    return view


def vanish(worker: subprocess.Popen[bytes]) -> None:
    """Its host is gone: nobody is left who would say that the job's process died."""
    children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
    os.kill(worker.pid, signal.SIGSTOP)
    for pid in map(int, children):
        os.kill(pid, signal.SIGKILL)
    worker.kill()
    worker.wait(10)
    wait_for(lambda: not any(is_alive(int(pid)) for pid in children), what="the end of its processes")


@pytest.mark.parametrize("sweeper", [("worker", "--lanes", "interactive"), ("scheduler",)], ids=" ".join)
def test_a_pool_that_lacks_a_type_gives_its_job_back_unharmed(
    engine: Engine, tmp_path: Path, sweeper: tuple[str, ...]
) -> None:
    """LS-12: X ran in pool 2, its lease expired; pool 1, which lacks X, sweeps; pool 2 comes back and runs X."""
    engine.scripts.set_policy(Policy("acme"))
    data = encode("worker.nap_at_first", (), {"seconds": 60})
    job = NewJob("theirs", "acme", "bulk", "worker.nap_at_first", data, lease_ms=1500, max_attempts=2)
    engine.scripts.enqueue(job)
    with running(tmp_path / "two", "worker", "--lanes", "bulk", **MODULES) as two:
        wait_for(lambda: view_of(engine).state == "started", seconds=40, what="its start in pool 2")
        vanish(two)
    assert view_of(engine).state == "started"
    with running(tmp_path / "one", *sweeper, **LACKING):
        wait_for(lambda: view_of(engine).state != "started", seconds=40, what="the sweep of pool 1")
        view = view_of(engine)
        assert (view.state, view.attempts, [each.outcome for each in view.history]) == ("queued", 1, ["worker_lost"])
        assert engine.scripts.dead_batch() == []
        with running(tmp_path / "two again", "worker", "--lanes", "bulk", **MODULES):
            wait_for(lambda: view_of(engine).state == "succeeded", seconds=40, what="its end in pool 2")
    assert view_of(engine).attempts == 2
