"""Leases are kept from outside the job's process, and a slot without one does not live on."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from jobops.engine.processes import is_alive
from tests.tools import wait_for
from tests.worker.crew import Crew, WorkerHandle


def warden_of(worker: WorkerHandle) -> int:
    """The child that leads its own group and is no slot: the first one forked."""
    return worker.children()[0]


def test_a_job_that_holds_the_interpreter_lock_still_heartbeats(crew: Crew) -> None:
    """LS-16: in one C call, lock held, for three times the lease: one run, and the lease is fresh all along."""
    crew.start()
    job = crew.enqueue("spin_in_c", seconds=6, fields={"lease_ms": 2000, "timeout_ms": 60_000})
    crew.wait_mark("start", job)
    freshness = []
    while crew.job(job).state == "started":
        expiry = crew.engine.redis.zscore(crew.engine.keys.leases(), job)
        if expiry is not None:
            freshness.append(float(expiry) - crew.engine.scripts.now_ms())
        time.sleep(0.1)
    view = crew.wait_end(job)
    assert (view.state, view.attempts, len(crew.marks("start", job))) == ("succeeded", 1, 1)
    assert len(freshness) > 20
    assert min(freshness) > 0


def test_a_stopped_supervisor_leaves_no_slot_running_without_a_lease(crew: Crew) -> None:
    """The supervisor is frozen in mid-job: the warden kills the slot before its lease is over; another goes on."""
    frozen = crew.start()
    job = crew.enqueue("sleep_at_first", seconds=15, fields={"timeout_ms": 60_000})
    first = crew.wait_mark("start", job)[0]
    os.kill(frozen.pid, signal.SIGSTOP)
    lease_end = float(crew.engine.redis.zscore(crew.engine.keys.leases(), job) or 0)
    wait_for(lambda: not is_alive(first.pid), what="the end of the fenced slot")
    assert crew.engine.scripts.now_ms() < lease_end
    crew.start()
    second = crew.wait_mark("start", job, count=2)[1]
    assert second.attempt == 2
    os.kill(frozen.pid, signal.SIGCONT)
    wait_for(lambda: not Path(f"/proc/{first.pid}").exists(), what="the burial of the fenced slot")
    crew.wait_slots(2)
    assert crew.wait_end(job, seconds=30).attempts == 2


def test_a_stopped_supervisor_does_not_stop_the_hard_kill(crew: Crew) -> None:
    worker = crew.start(grace_s=0.5)
    job = crew.enqueue("hold_lock", seconds=60, fields={"timeout_ms": 1000, "lease_ms": 30_000, "max_attempts": 1})
    start = crew.wait_mark("start", job)[0]
    os.kill(worker.pid, signal.SIGSTOP)
    wait_for(lambda: not is_alive(start.pid), what="the kill by the warden")
    os.kill(worker.pid, signal.SIGCONT)
    assert crew.wait_end(job).reason == "timeout"


def test_a_frozen_slot_is_killed_at_its_time_out(crew: Crew) -> None:
    crew.start()
    job = crew.enqueue("sleep", seconds=60, fields={"timeout_ms": 1000, "max_attempts": 1})
    pid = crew.wait_mark("start", job)[0].pid
    os.kill(pid, signal.SIGSTOP)
    assert crew.wait_end(job).reason == "timeout"


def test_a_killed_supervisor_takes_slots_and_their_jobs_children_along(crew: Crew, tmp_path: Path) -> None:
    """Whatever the slot is busy with: one sleeps with a child of its own, one holds the interpreter lock."""
    worker = crew.start(processes=2)
    pid_file = tmp_path / "pid"
    parent = crew.enqueue("start_child", pid_file=str(pid_file), seconds=100, fields={"timeout_ms": 200_000})
    stuck = crew.enqueue("spin_in_c", seconds=100, fields={"timeout_ms": 200_000})
    pids = [crew.wait_mark("start", job)[0].pid for job in (parent, stuck)]
    pids.append(int(wait_for(lambda: pid_file.exists() and pid_file.read_text(), what="the child")))
    family = worker.children()
    worker.kill()
    wait_for(lambda: not any(map(is_alive, [*pids, *family])), seconds=10, what="the end of them all")
    # Seen dead by the warden: both jobs wait for their second attempt, without any lease having run out.
    assert {crew.job(job).state for job in (parent, stuck)} == {"queued"}
    assert crew.running() == 0


def test_slots_die_with_the_supervisor_even_without_a_warden(crew: Crew) -> None:
    worker = crew.start()
    job = crew.enqueue("spin_in_c", seconds=100, fields={"timeout_ms": 200_000})
    pid = crew.wait_mark("start", job)[0].pid
    os.kill(worker.pid, signal.SIGSTOP)
    os.kill(warden_of(worker), signal.SIGKILL)
    worker.kill()
    wait_for(lambda: not is_alive(pid), what="the end of the slot")
    crew.start()
    assert crew.wait_mark("start", job, count=2, seconds=30)[1].attempt == 2


def test_a_killed_warden_is_replaced(crew: Crew) -> None:
    worker = crew.start()
    crew.wait_slots(1)
    first = warden_of(worker)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{first}").exists() and len(worker.children()) == 2, what="the new warden")
    job = crew.enqueue("nothing")
    assert crew.wait_end(job).state == "succeeded"
    assert worker.stop() == 0
