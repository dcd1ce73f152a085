"""Effects in real workers, which are stopped and killed at the worst instants."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from jobops.context.models import OnceRecord
from jobops.contracts.handles import Handle
from jobops.engine.client import Engine
from jobops.engine.worker_views import read_supervisors
from jobops.runtime import lookup
from tests.runtime import effect_jobs
from tests.runtime.attempts import WORKER
from tests.runtime.processes import running
from tests.tools import wait_for

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """The worker's warden and then its slot."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def state(job_id: str) -> str:
    view = lookup(job_id)
    return view.state if view is not None else "gone"


def wait_state(job_id: str, wanted: str) -> None:
    wait_for(lambda: state(job_id) == wanted, seconds=60, what=f"{job_id} {wanted}, not {state(job_id)}")


def pay(ledger: Path, go: str = "") -> str:
    return effect_jobs.pay.using(tenant="acme", key="pay:1").enqueue(str(ledger), 1, wait_for=go).id


def test_a_job_that_was_given_up_while_its_worker_slept_never_pays_twice(both: Engine, tmp_path: Path) -> None:
    """LS-10: one attempt, and the worker is stopped past its lease; the next job of the key pays; then it wakes up."""
    ledger, go = tmp_path / "ledger", tmp_path / "go"
    first = pay(ledger, str(go))
    with running(tmp_path / "a", "worker", **WORKER) as sleeper:
        wait_for(lambda: f"started-{first}" in effect_jobs.read(ledger), seconds=40, what="the first one's start")
        with running(tmp_path / "b", "worker", **WORKER):
            wait_for(lambda: len(read_supervisors(both)) == 2, seconds=40, what="the second worker")
            family = [sleeper.pid, *children(sleeper)]
            for pid in family:
                os.kill(pid, signal.SIGSTOP)
            wait_state(first, "dead")
            second = pay(ledger)
            wait_state(second, "succeeded")
            go.touch()
            os.kill(family[-1], signal.SIGCONT)  # the slot alone: nobody is awake who would kill it
            log = tmp_path / "a"
            wait_for(lambda: "ended too late" in log.read_text(), seconds=40, what="the end of the sleeper")
            assert "ends without effect" in log.read_text()
            for pid in family:
                os.kill(pid, signal.SIGCONT)
    assert effect_jobs.read(ledger).count("charged-1") == 1
    assert Handle(second).result(timeout=1) == "receipt-1"
    assert (state(first), OnceRecord.objects.get().job_id) == ("dead", second)


def test_a_worker_that_is_killed_in_the_middle_of_its_effect_leaves_it_to_the_next_attempt(
    both: Engine, tmp_path: Path
) -> None:
    """OB-07: the second attempt waits for the lease of the first to end, and runs; nobody makes a second key."""
    ledger = tmp_path / "ledger"
    job_id = effect_jobs.hesitate.using(tenant="acme").enqueue(str(ledger)).id
    with running(tmp_path / "a", "worker", **WORKER) as victim:
        wait_for(lambda: effect_jobs.read(ledger) == ["begun-1"], seconds=40, what="the effect's beginning")
        assert OnceRecord.objects.get().state == "running"
        with running(tmp_path / "b", "worker", **WORKER):
            wait_for(lambda: len(read_supervisors(both)) == 2, seconds=40, what="the second worker")
            victim.kill()
            wait_state(job_id, "succeeded")
    assert effect_jobs.read(ledger) == ["begun-1", "begun-2"]
    row = OnceRecord.objects.get()
    assert (row.state, row.attempt, row.job_id) == ("done", 2, job_id)
