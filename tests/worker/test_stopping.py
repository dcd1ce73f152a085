"""A worker stops: nothing more is claimed, what runs may finish, the rest goes back unharmed, exit 0."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from jobops.engine.registrations import request_drain
from tests.tools import wait_for
from tests.worker.crew import Crew


def test_a_running_job_finishes_and_the_next_is_not_claimed(crew: Crew) -> None:
    worker = crew.start()
    running = crew.enqueue("sleep", seconds=1.0)
    crew.wait_mark("start", running)
    waiting = crew.enqueue("nothing")
    assert worker.stop() == 0
    assert crew.job(running).state == "succeeded"
    assert (crew.job(waiting).state, crew.job(waiting).attempts) == ("queued", 0)
    assert crew.supervisors() == []


def test_an_idle_worker_stops_at_once(crew: Crew) -> None:
    worker = crew.start(processes=2)
    crew.wait_slots(2)
    began = time.monotonic()
    assert worker.stop() == 0
    assert time.monotonic() - began < 3


def test_what_does_not_finish_in_time_is_released_unharmed(crew: Crew) -> None:
    worker = crew.start(drain_timeout_s=0.5)
    job = crew.enqueue("sleep", seconds=60, fields={"max_attempts": 1})
    start = crew.wait_mark("start", job)[0]
    assert worker.stop() == 0
    view = crew.job(job)
    assert (view.state, view.attempts) == ("queued", 0)
    assert view.history[-1].outcome == "released"
    assert crew.running() == 0
    wait_for(lambda: not Path(f"/proc/{start.pid}").exists(), what="the end of the slot")


def test_a_second_signal_hurries(crew: Crew) -> None:
    worker = crew.start(drain_timeout_s=60)
    job = crew.enqueue("sleep", seconds=60)
    crew.wait_mark("start", job)
    worker.process.send_signal(signal.SIGINT)

    for _ in range(10):
        # One that follows within a moment counts as the same, and a busy machine makes moments long.
        time.sleep(0.5)
        worker.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.process.wait(1)
            break
    assert worker.process.wait(0) == 0
    assert (crew.job(job).state, crew.job(job).attempts) == ("queued", 0)


def test_a_stop_between_claim_and_start_loses_nothing(crew: Crew, tmp_path: Path) -> None:
    """LS-04: the signal arrives in a pause after the claim. The job runs exactly once, on the next worker."""
    go = tmp_path / "go"
    worker = crew.start(hooks="slow", env={"JOBOPS_TEST_GO": str(go)}, drain_timeout_s=0.5)
    job = crew.enqueue("nothing")
    wait_for(go.with_suffix(".waiting").exists, what="the pause between claim and start")
    assert worker.stop() == 0
    assert (crew.job(job).state, crew.job(job).attempts) == ("queued", 0)
    crew.run_burst()
    assert (crew.job(job).state, crew.job(job).attempts) == ("succeeded", 1)
    assert len(crew.marks("start", job)) == 1


def test_a_stop_between_claim_and_start_with_time_left_runs_the_job(crew: Crew, tmp_path: Path) -> None:
    """LS-04: the same with a generous drain: this worker runs it, once."""
    go = tmp_path / "go"
    worker = crew.start(hooks="slow", env={"JOBOPS_TEST_GO": str(go)})
    job = crew.enqueue("nothing")
    wait_for(go.with_suffix(".waiting").exists, what="the pause between claim and start")
    worker.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    go.touch()
    assert worker.process.wait(15) == 0
    assert (crew.job(job).state, len(crew.marks("start", job))) == ("succeeded", 1)


def test_stopping_again_and_again_uses_up_no_attempt(crew: Crew) -> None:
    job = crew.enqueue("sleep", seconds=30, fields={"max_attempts": 1})
    for turn in range(1, 4):
        worker = crew.start(drain_timeout_s=0)
        crew.wait_mark("start", job, count=turn)
        assert worker.stop() == 0
        assert (crew.job(job).state, crew.job(job).attempts) == ("queued", 0)


def test_a_worker_drains_when_asked_through_redis(crew: Crew) -> None:
    worker = crew.start()
    job = crew.enqueue("sleep", seconds=2)
    crew.wait_mark("start", job)
    (view,) = crew.supervisors()
    request_drain(crew.engine, view.id)
    assert crew.supervisors()[0].state == "draining"
    assert worker.process.wait(15) == 0
    assert crew.job(job).state == "succeeded"
    assert crew.supervisors() == []


def test_one_slot_that_is_told_to_end_is_replaced(crew: Crew) -> None:
    """An operator's SIGTERM to a slot's own process: it finishes its job, and another takes its place."""
    crew.start()
    job = crew.enqueue("sleep", seconds=1)
    pid = crew.wait_mark("start", job)[0].pid
    os.kill(pid, signal.SIGTERM)
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 1)
    wait_for(lambda: [s for s in crew.slots() if s.pid != pid and s.state == "idle"], what="the replacement")


def test_a_burst_waits_for_what_a_busy_slot_holds_up(crew: Crew) -> None:
    """At its cap the tenant's second job is not runnable; the burst does not end before it ran."""
    crew.tenant("acme", cap=1)
    jobs = [crew.enqueue("sleep", seconds=0.5) for _ in range(3)]
    crew.run_burst(processes=2)
    assert {crew.job(job).state for job in jobs} == {"succeeded"}


def test_a_burst_leaves_alone_what_is_not_due(crew: Crew) -> None:
    due = crew.enqueue("nothing", fields={"delay_ms": 1})
    later = crew.enqueue("nothing", fields={"delay_ms": 3_600_000})
    crew.run_burst()
    assert (crew.job(due).state, crew.job(later).state) == ("succeeded", "scheduled")
