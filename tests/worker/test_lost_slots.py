"""A slot dies in the middle of a job: noticed at once, counted once, replaced, and nobody else is harmed."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from jobops.engine.processes import is_alive
from tests.tools import wait_for
from tests.worker.crew import Crew


def slot_pid(crew: Crew, job: str) -> int:
    """The process that runs a job now."""
    return crew.wait_mark("start", job)[-1].pid


def test_a_job_whose_slot_was_killed_is_retried_at_once(crew: Crew) -> None:
    """LS-03, CC-01: attempt 2 starts long before the lease of 30 s would have run out; the cap of 1 is free again."""
    crew.tenant("acme", cap=1)
    crew.start(heartbeat_s=5, lease_s=30)
    job = crew.enqueue("sleep", seconds=0.5, fields={"lease_ms": 30_000, "max_attempts": 4})
    first = slot_pid(crew, job)
    os.kill(first, signal.SIGKILL)
    second, *_ = crew.wait_mark("start", job, count=2, seconds=10)[1:]
    assert (second.attempt, second.pid != first) == (2, True)
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 2)
    assert view.history[0].outcome == "worker_lost"
    assert "SIGKILL" in view.history[0].error
    assert crew.running() == 0


def test_a_job_survives_its_supervisor_and_its_slot(crew: Crew) -> None:
    """LS-03: parent and child are killed hard; a second worker runs attempt 2. Nothing is left of the first worker."""
    worker = crew.start(heartbeat_s=5, lease_s=30)
    job = crew.enqueue("sleep", seconds=1, fields={"lease_ms": 30_000, "max_attempts": 4})
    slot = slot_pid(crew, job)
    family = worker.children()
    worker.kill()
    os.kill(slot, signal.SIGKILL) if is_alive(slot) else None
    wait_for(lambda: not any(map(is_alive, family)), what="the end of slot and warden")
    assert crew.job(job).state == "queued"
    crew.start()
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 2)


def test_a_job_that_kills_its_worker_dies_after_its_attempts(crew: Crew) -> None:
    """RT-03: exactly 3 starts, then dead as *worker lost*; other jobs keep flowing."""
    crew.start()
    poison = crew.enqueue("kill_itself", fields={"max_attempts": 3})
    others = [crew.enqueue("nothing") for _ in range(20)]
    view = crew.wait_end(poison, seconds=30)
    assert (view.state, view.reason, view.attempts) == ("dead", "worker_lost", 3)
    assert [mark.attempt for mark in crew.marks("start", poison)] == [1, 2, 3]
    for other in others:
        assert crew.wait_end(other).state == "succeeded"
    assert [death.job_id for death in crew.engine.scripts.dead_batch()] == [poison]


@pytest.mark.parametrize("function", ["exit_hard", "segfault", "raise_in_thread"])
def test_a_crash_takes_only_its_own_slot(crew: Crew, function: str) -> None:
    """RT-11: the job crashes its process; the supervisor stays, the job dies after its attempts, others run."""
    worker = crew.start(processes=2)
    crashing = crew.enqueue(function, fields={"max_attempts": 2})
    healthy = [crew.enqueue("sleep", seconds=0.05) for _ in range(5)]
    view = crew.wait_end(crashing, seconds=30)
    assert (view.state, view.attempts) == ("dead", 2)
    for job in healthy:
        assert crew.wait_end(job).state == "succeeded"
    assert worker.process.poll() is None
    crew.wait_slots(2)


def test_processes_that_a_job_started_go_with_it(crew: Crew, tmp_path: Path) -> None:
    """The slot leads a process group; its end, by whatever cause, ends the group."""
    crew.start()
    pid_file = tmp_path / "pid"
    job = crew.enqueue("start_child", pid_file=str(pid_file), seconds=100, fields={"max_attempts": 1})
    child = int(wait_for(lambda: pid_file.exists() and pid_file.read_text(), what="the child"))
    os.kill(slot_pid(crew, job), signal.SIGKILL)
    assert crew.wait_end(job).reason == "worker_lost"
    wait_for(lambda: not is_alive(child), what="the end of the job's child")


def test_a_job_whose_forked_child_comes_back_stays_one(crew: Crew) -> None:
    """The child of a job that forks and forgets to exit must not become a second slot of the same name."""
    crew.start()
    crew.wait_slots(1)
    jobs = [crew.enqueue("fork_and_return") for _ in range(3)]
    for job in jobs:
        assert crew.wait_end(job).attempts == 1
    assert len({mark.pid for mark in crew.marks("end")} & {slot.pid for slot in crew.slots()}) == 1
    assert len(crew.marks("start")) == 3


def test_a_finished_job_stays_finished_whatever_is_left_of_its_lease(crew: Crew) -> None:
    """LS-01: an entry of the lease survived, long expired; sweeping twice changes nothing and clears it away."""
    job = crew.enqueue("nothing")
    crew.run_burst()
    long_ago = crew.engine.scripts.now_ms() - 60_000
    crew.engine.redis.zadd(crew.engine.keys.leases(), {job: long_ago})
    for _ in range(2):
        crew.engine.scripts.rescue(gap_ms=10**9)
        crew.engine.scripts.reconcile("acme.bulk")
    view = crew.job(job)
    assert (view.state, view.attempts, len(view.history)) == ("succeeded", 1, 1)
    assert crew.engine.scripts.dead_batch() == []
    assert crew.engine.redis.zcard(crew.engine.keys.leases()) == 0


def test_nothing_is_running_once_work_is_done(crew: Crew) -> None:
    """LS-02: after ten jobs in burst mode no lease, no running entry; sweeps find nothing to do."""
    ids = [crew.enqueue("nothing") for _ in range(10)]
    crew.run_burst(processes=2)
    redis, keys = crew.engine.redis, crew.engine.keys
    assert redis.zcard(keys.leases()) == redis.zcard(keys.inflight("acme")) == redis.zcard("rq:wip:acme.bulk") == 0
    assert crew.engine.scripts.rescue(gap_ms=10**9).moved == 0
    assert crew.engine.scripts.reconcile("acme.bulk").recovered == 0
    assert {crew.job(each).state for each in ids} == {"succeeded"}


def test_a_sweep_does_not_touch_a_job_that_was_claimed_a_moment_ago(crew: Crew, tmp_path: Path) -> None:
    """LS-05: claimed, swept before it starts, starts, finishes: one run, no dead letter."""
    go = tmp_path / "go"
    crew.start(hooks="slow", env={"JOBOPS_TEST_GO": str(go)})
    job = crew.enqueue("nothing")
    wait_for(go.with_suffix(".waiting").exists, what="the pause between claim and start")
    crew.engine.scripts.rescue(gap_ms=10**9)
    crew.engine.scripts.reconcile("acme.bulk")
    go.touch()
    assert crew.wait_end(job).attempts == 1
    assert len(crew.marks("start", job)) == 1


def test_a_running_job_without_a_lease_is_recovered_by_one_sweep(crew: Crew) -> None:
    """LS-11: the lease is gone from Redis. One sweep gives the job back; its slot, which lost it, is killed."""
    crew.start()
    job = crew.enqueue("sleep_at_first", seconds=8)
    slot = slot_pid(crew, job)
    crew.engine.redis.delete(crew.engine.keys.lease(job))
    assert crew.engine.scripts.reconcile("acme.bulk").recovered == 1
    wait_for(lambda: not is_alive(slot), what="the end of the slot without a lease")
    second = crew.wait_mark("start", job, count=2)[1]
    assert second.attempt == 2
    assert crew.job(job).history[0].error == "it ran without a lease"


def test_a_slot_that_lost_its_lease_never_makes_the_cap_exceed_one(own_crew: Crew) -> None:
    """CC-02: heartbeats blocked past the lease (the supervisor is stopped), ten times over; never two at once."""
    crew = own_crew
    crew.tenant("acme", cap=1)
    first = crew.start(heartbeat_s=0.2, lease_s=0.8)
    crew.start(heartbeat_s=0.2, lease_s=0.8)
    crew.wait_slots(2)
    fields = {"lease_ms": 800, "max_attempts": 20, "timeout_ms": 60_000}
    for _ in range(10):
        job = crew.enqueue("tick", seconds=0.9, ticks=str(crew.marks_file), fields=fields)
        pid = slot_pid(crew, job)
        holder = next(worker for worker in crew.workers if pid in worker.children())
        os.kill(holder.pid, signal.SIGSTOP)
        wait_for(lambda pid=pid: not is_alive(pid), what="the end of the fenced slot")
        os.kill(holder.pid, signal.SIGCONT)
        crew.wait_end(job, seconds=40)
    assert first.process.poll() is None
    assert_never_two_at_once(crew)
    assert crew.running() == 0


def test_the_cap_holds_from_the_first_claim_after_a_forced_stop(crew: Crew) -> None:
    """CC-03: three long jobs, cap 1, stopped by force, fresh workers: peak running 1."""
    crew.tenant("acme", cap=1)
    jobs = [crew.enqueue("tick", seconds=1.0, ticks=str(crew.marks_file)) for _ in range(3)]
    worker = crew.start(processes=3, drain_timeout_s=0.2)
    wait_for(lambda: crew.marks("start"), what="the first start")
    worker.process.send_signal(signal.SIGTERM)
    worker.kill()
    crew.start(processes=3)
    for job in jobs:
        crew.wait_end(job, seconds=30)
    assert_never_two_at_once(crew)


def assert_never_two_at_once(crew: Crew) -> None:
    """By what the jobs did: between an attempt's first and last mark lies no mark of another."""
    spans: dict[tuple[str, int], list[float]] = {}
    for mark in crew.marks():
        spans.setdefault((mark.job, mark.attempt), []).append(mark.at)
    intervals = sorted((min(marks), max(marks)) for marks in spans.values())
    assert len(intervals) > 2
    for (_, end), (start, _) in pairwise(intervals):
        assert start >= end
