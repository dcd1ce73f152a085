"""Time-outs: soft ones that nothing swallows for good, hard ones for what does not listen, attempts counted alike."""

from __future__ import annotations

from itertools import pairwise

from jobops.engine.processes import is_alive
from tests.tools import wait_for
from tests.worker.crew import Crew


def test_a_broad_except_does_not_make_a_timed_out_job_succeed(crew: Crew) -> None:
    """RT-01: `except Exception` around slow work. Timed out, never success."""
    crew.start()
    job = crew.enqueue("swallow_exceptions", seconds=20, fields={"timeout_ms": 500, "max_attempts": 1})
    view = crew.wait_end(job, seconds=10)
    assert (view.state, view.reason, view.error_class) == ("dead", "timeout", "JobTimeout")
    assert crew.marks("end", job) == []


def test_a_job_that_swallows_everything_is_recorded_as_timed_out(crew: Crew) -> None:
    """RT-01: it catches even BaseException and returns "ok" a little later: still timed out."""
    crew.start(grace_s=5)
    job = crew.enqueue("swallow_everything", seconds=1.5, fields={"timeout_ms": 300, "max_attempts": 1})
    view = crew.wait_end(job, seconds=15)
    assert (view.state, view.reason) == ("dead", "timeout")


def test_a_job_that_swallows_everything_for_ever_is_killed(crew: Crew) -> None:
    """RT-01: the process is gone by the time-out plus the grace."""
    crew.start(grace_s=1)
    job = crew.enqueue("swallow_everything", seconds=60, fields={"timeout_ms": 500, "max_attempts": 1})
    start = crew.wait_mark("start", job)[0]
    view = crew.wait_end(job, seconds=15)
    assert not is_alive(start.pid)
    assert (view.state, view.reason) == ("dead", "timeout")
    assert view.started_at is not None
    assert view.ended_at is not None
    assert 1.3 < (view.ended_at - view.started_at).total_seconds() < 5


def test_a_job_stuck_in_native_code_is_killed_and_the_worker_goes_on(crew: Crew) -> None:
    """RT-02: blocks signals and holds the interpreter lock; killed shortly after the limit; the next job runs."""
    crew.start(grace_s=1)
    stuck = crew.enqueue("hold_lock", seconds=60, fields={"timeout_ms": 1000, "max_attempts": 2})
    after = crew.enqueue("nothing")
    view = crew.wait_end(stuck, seconds=30)
    assert (view.state, view.reason, view.attempts) == ("dead", "timeout", 2)
    assert [attempt.outcome for attempt in view.history] == ["timeout", "timeout"]
    assert crew.wait_end(after).state == "succeeded"
    wait_for(lambda: not any(is_alive(m.pid) for m in crew.marks("start", stuck)), what="the end of the stuck slots")


def test_every_start_counts_by_whatever_path_it_ends(crew: Crew) -> None:
    """RT-09: one error, one lost worker, one time-out: exactly 3 starts of 3."""
    crew.start()
    job = crew.enqueue("mixed_fates", fields={"max_attempts": 3, "timeout_ms": 800})
    view = crew.wait_end(job, seconds=30)
    assert (view.state, view.attempts, view.reason) == ("dead", 3, "timeout")
    assert [mark.attempt for mark in crew.marks("start", job)] == [1, 2, 3]
    assert [attempt.outcome for attempt in view.history] == ["error", "worker_lost", "timeout"]


def test_retries_with_a_delay_need_no_scheduler(crew: Crew) -> None:
    """RT-05: three retries, a second apart, only a worker running: four runs."""
    crew.start()
    job = crew.enqueue("fail", retry_ms=1000, fields={"max_attempts": 4})
    view = crew.wait_end(job, seconds=30)
    assert (view.state, view.reason, view.attempts) == ("dead", "exhausted", 4)
    starts = [mark.at for mark in crew.marks("start", job)]
    assert all(0.95 < later - earlier < 4 for earlier, later in pairwise(starts))
