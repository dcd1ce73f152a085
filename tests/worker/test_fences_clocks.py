"""Clocks that jump. Redis's clock decides; a worker's own wall clock decides nothing."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobops.engine.processes import is_alive
from tests.tools import wait_for
from tests.worker.crew import Crew
from tests.worker.shifted_clock import Clocks

HOURS = 3600.0


def from_ms(instant: int) -> datetime:
    return datetime.fromtimestamp(instant / 1000, UTC)


@pytest.fixture
def clocks(tmp_path: Path) -> Clocks:
    return Clocks(tmp_path / "clocks")


@pytest.mark.parametrize("jump", [5 * HOURS, -5 * HOURS])
def test_a_wall_clock_that_jumps_changes_nothing(crew: Crew, clocks: Clocks, jump: float) -> None:
    """MA-01: in mid-job, hours ahead or back. Leases are renewed, the worker is not lost, every time that is shown is
    Redis's, delays are kept."""
    worker = crew.start(env=clocks.env)
    before = from_ms(crew.engine.scripts.now_ms())
    job = crew.enqueue("sleep", seconds=4, fields={"lease_ms": 2000})
    pid = crew.wait_mark("start", job)[0].pid
    clocks.set(wall=jump)
    retried = crew.enqueue("fail", times=1, retry_ms=500, fields={"max_attempts": 2})
    view = crew.wait_end(job)
    assert (view.state, view.attempts, is_alive(pid)) == ("succeeded", 1, True)
    again = crew.wait_end(retried)
    assert (again.state, again.attempts) == ("succeeded", 2)
    first, second = (mark.at for mark in crew.marks("start", retried))
    assert 0.5 <= second - first < 5
    now = from_ms(crew.engine.scripts.now_ms())
    for shown in (view, again):
        times = [at for at in (shown.enqueued_at, shown.started_at, shown.ended_at) if at is not None]
        assert (len(times), times) == (3, sorted(times))
        assert before <= times[0]
        assert times[-1] <= now
    assert [view.state for view in crew.supervisors()] == ["running"]
    time.sleep(1)
    assert [view.state for view in crew.supervisors()] == ["running"]
    assert worker.process.poll() is None


def test_a_clock_that_jumps_like_a_suspended_machine_s_fences_what_runs(crew: Crew, clocks: Clocks) -> None:
    """The clock of deadlines counts the sleep: whoever had a lease may have lost it. The slot dies at once, the job's
    next attempt runs, and the worker works on, with deadlines of the new time."""
    worker = crew.start(env=clocks.env, processes=2)
    job = crew.enqueue("sleep_at_first", seconds=60, fields={"timeout_ms": 120_000})
    pid = crew.wait_mark("start", job)[0].pid
    clocks.set(boot=HOURS)
    jumped = time.monotonic()
    wait_for(lambda: not is_alive(pid), seconds=5, what="the end of the slot")
    assert time.monotonic() - jumped < 1.5
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 2)
    pids = {slot.pid for slot in crew.wait_slots(2)}
    long = crew.enqueue("sleep", seconds=4, fields={"lease_ms": 2000, "max_attempts": 1})
    assert crew.wait_end(long).state == "succeeded"
    assert {slot.pid for slot in crew.wait_slots(2)} == pids
    assert worker.process.poll() is None
