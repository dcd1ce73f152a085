"""Jobs that damage their process: each costs itself at most, and its slot never stays out of work for long."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from jobops.engine.processes import is_alive
from tests.tools import wait_for
from tests.worker.crew import Crew


@pytest.mark.parametrize("code", [0, 3])
def test_a_job_that_ends_its_process_is_lost_whatever_the_exit_code(crew: Crew, code: int) -> None:
    """The codes of a slot that ends in good order give a job no free attempts, and end no burst before its time."""
    bad = crew.enqueue("exit_with", code=code, fields={"max_attempts": 2})
    others = [crew.enqueue("nothing") for _ in range(5)]
    crew.run_burst()
    view = crew.job(bad)
    assert (view.state, view.reason, len(crew.marks("start", bad))) == ("dead", "worker_lost", 2)
    assert f"exit status {code}" in view.error
    assert {crew.job(each).state for each in others} == {"succeeded"}


def test_a_result_above_the_limit_is_not_kept_and_the_job_has_succeeded(crew: Crew) -> None:
    """PX-07"""
    small = crew.enqueue("large_result", size=999_998)
    large = crew.enqueue("large_result", size=999_999)
    worker = crew.run_burst(result_limit=1_000_000)
    kept, lost = crew.job(small), crew.job(large)
    assert (kept.state, len(kept.result or b"")) == ("succeeded", 1_000_000)
    assert (lost.state, lost.result, lost.attempts) == ("succeeded", b"", 1)
    assert "its result is not kept: 1000001 bytes" in worker.text()


def test_a_worker_needs_no_lua_file_once_it_runs(crew: Crew) -> None:
    """A release installed in place under a running worker does not reach the commands that it sends."""
    job = crew.enqueue("lose_the_files", fields={"max_attempts": 1})
    crew.run_burst()
    assert crew.job(job).state == "succeeded"


def test_a_job_that_takes_all_descriptors_costs_its_slot_and_nothing_else(crew: Crew) -> None:
    """Its connection is lost, and it may not open another: that is no Redis that is away. The slot is replaced."""
    worker = crew.start()
    bad = crew.enqueue("starve", fields={"max_attempts": 1})
    view = crew.wait_end(bad, seconds=15)
    assert (view.state, view.reason) == ("dead", "worker_lost")
    assert crew.wait_end(crew.enqueue("nothing")).state == "succeeded"
    assert worker.process.poll() is None


def test_a_settle_that_never_gets_through_ends_with_its_lease(own_crew: Crew) -> None:
    """Redis refuses it each time, by cutting the connection: the slot is killed once the lease is over for good."""
    crew = own_crew
    crew.engine.redis.config_set("proto-max-bulk-len", str(1024 * 1024))
    worker = crew.start(result_limit=64 * 1024 * 1024)
    bad = crew.enqueue("large_result", size=2 * 1024 * 1024, fields={"max_attempts": 1, "timeout_ms": 1000})
    pid = crew.wait_mark("end", bad)[0].pid
    crew.engine.redis.delete(crew.engine.keys.lease(bad))
    wait_for(lambda: not is_alive(pid), seconds=30, what="the end of the slot")
    assert crew.wait_end(crew.enqueue("nothing")).state == "succeeded"
    assert "cannot settle" in worker.text()


def test_what_one_job_leaves_behind_does_not_reach_the_next(crew: Crew) -> None:
    """Blocked signals, ignored children, a timer that goes off later, the folder, the umask, the recursion limit."""
    crew.start()
    spoiler = crew.enqueue("spoil")
    first = crew.wait_mark("end", spoiler)[0]
    view = crew.wait_end(crew.enqueue("look_around", seconds=1, fields={"max_attempts": 1, "timeout_ms": 5000}))
    umask = os.umask(0)
    os.umask(umask)
    assert view.state == "succeeded", view.error
    assert json.loads(view.result) == [first.pid, 0, sys.getrecursionlimit(), umask, 1, str(Path.cwd())]
    # And time-outs and stops work as ever.
    late = crew.enqueue("sleep", seconds=30, fields={"max_attempts": 1, "timeout_ms": 500})
    assert crew.wait_end(late, seconds=10).error_class == "JobTimeout"
    assert crew.workers[0].stop(5) == 0


def test_an_idle_slot_whose_last_job_blocked_all_signals_hears_them(crew: Crew) -> None:
    """What a job left behind is put back after it, not only when another comes."""
    crew.start()
    spoiler = crew.enqueue("spoil")
    pid = crew.wait_mark("end", spoiler)[0].pid
    crew.wait_end(spoiler)
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not is_alive(pid), what="the end of the slot")


def test_a_slot_whose_limits_a_job_lowered_is_replaced(crew: Crew) -> None:
    crew.start()
    jobs = [crew.enqueue("lower_limits"), crew.enqueue("nothing")]
    assert [crew.wait_end(job).state for job in jobs] == ["succeeded"] * 2
    assert len({mark.pid for mark in crew.marks("start")}) == 2


def test_a_hook_that_raises_costs_no_job_its_outcome(crew: Crew) -> None:
    worker = crew.start(hooks="failing")
    good = [crew.enqueue("nothing", fields={"max_attempts": 1}) for _ in range(3)]
    bad = crew.enqueue("fail", fields={"max_attempts": 1})
    assert [crew.wait_end(each).state for each in good] == ["succeeded"] * 3
    assert crew.wait_end(bad).error_class == "ValueError"
    # Each in a slot of its own: what the hook left undone reaches no second job.
    assert len({mark.pid for mark in crew.marks("start")}) == 4
    assert "the hook after_job raised" in worker.text()


def test_damaged_keys_end_no_worker_and_keep_no_lease_from_being_renewed(crew: Crew) -> None:
    """Somebody else's strings stand where delayed jobs and leases are: logged once, and work goes on."""
    redis, keys = crew.engine.redis, crew.engine.keys
    worker = crew.start(lease_s=2.0)
    job = crew.enqueue("sleep", seconds=6, fields={"timeout_ms": 20_000, "lease_ms": 2000, "max_attempts": 1})
    crew.wait_mark("start", job)
    redis.set("rq:job:zz", "x")
    redis.zadd("rq:scheduler:scheduled_jobs", {"zz": 1})
    redis.set(keys.lease("yy"), "x")
    redis.zadd(keys.leases(), {"yy": 1})
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 1)
    assert worker.process.poll() is None
    assert worker.text().count("promoting due jobs failed") <= 1
    assert worker.stop() == 0
