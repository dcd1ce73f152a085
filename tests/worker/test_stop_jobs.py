"""A person stops a running job: it is gone within two seconds, with all that it started, and nobody runs it again
unless that was asked for."""

from __future__ import annotations

import time
from pathlib import Path

from jobops.engine.processes import is_alive
from jobops.engine.records import Outcome
from jobops.engine.worker_views import read_supervisors
from tests.tools import wait_for
from tests.worker.crew import Crew

SOON = 2.0


def stop(crew: Crew, job: str, **how: object) -> float:
    began = time.monotonic()
    assert crew.engine.scripts.stop(job, note="stopped by anna: wrong file", **how) == "stopping"  # type: ignore[arg-type]
    return began


def deaths(crew: Crew) -> int:
    return int(crew.engine.redis.zcard(crew.engine.keys.dead()))


def test_it_is_gone_within_two_seconds_and_runs_no_more(crew: Crew) -> None:
    crew.tenant("acme", cap=1)
    crew.start()
    job = crew.enqueue("sleep", seconds=60, fields={"replay_of": "x:1"})
    pid = crew.wait_mark("start", job)[0].pid
    next_one = crew.enqueue("nothing")
    began = stop(crew, job)
    view = crew.wait_end(job)
    assert time.monotonic() - began < SOON
    assert (view.state, view.error_class, view.error) == ("cancelled", "Stopped", "stopped by anna: wrong file")
    assert (view.attempts, view.history[-1].outcome) == (1, "stopped")
    wait_for(lambda: not is_alive(pid), what="the end of its process")
    crew.wait_state(next_one, "succeeded")
    assert (crew.running(), deaths(crew), len(crew.marks("start", job))) == (0, 0, 1)
    outcomes = [outcome.outcome for outcome in crew.engine.scripts.outcome_batch(10)]
    assert outcomes == ["cancelled"]
    slots = wait_for(lambda: [slot for slot in crew.slots() if slot.state == "idle"], what="the replaced slot")
    assert slots[0].pid != pid
    supervisor = read_supervisors(crew.engine)[0].id
    wait_for(lambda: not crew.engine.redis.exists(crew.engine.keys.stops(supervisor)), what="the wish to be forgotten")


def test_with_retry_it_runs_again_as_its_next_attempt(crew: Crew) -> None:
    crew.start()
    job = crew.enqueue("sleep_at_first", seconds=60)
    crew.wait_mark("start", job)
    began = stop(crew, job, retry=True)
    view = crew.wait_end(job)
    assert time.monotonic() - began < SOON + 1
    assert (view.state, view.attempts) == ("succeeded", 2)
    assert [attempt.outcome for attempt in view.history] == ["stopped", "succeeded"]


def test_what_it_started_goes_with_it(crew: Crew, tmp_path: Path) -> None:
    crew.start()
    pid_file = tmp_path / "pid"
    job = crew.enqueue("start_child", pid_file=str(pid_file), seconds=60)
    child = int(wait_for(lambda: pid_file.exists() and pid_file.read_text(), what="its child"))
    assert is_alive(child)
    stop(crew, job)
    crew.wait_end(job)
    wait_for(lambda: not is_alive(child), what="the end of its child")


def test_one_that_holds_the_interpreter_lock_is_stopped_as_well(crew: Crew) -> None:
    """LS-16, RT-02: no signal handler of its own is needed."""
    crew.start()
    job = crew.enqueue("spin_in_c", seconds=60)
    crew.wait_mark("start", job)
    began = stop(crew, job)
    assert crew.wait_end(job).state == "cancelled"
    assert time.monotonic() - began < SOON


def test_only_the_slot_that_runs_it_is_killed(crew: Crew) -> None:
    crew.start(processes=3)
    stopped, *others = (crew.enqueue("sleep", seconds=3) for _ in range(3))
    for job in (stopped, *others):
        crew.wait_mark("start", job)
    stop(crew, stopped)
    assert crew.wait_end(stopped).state == "cancelled"
    assert {crew.wait_end(job).state for job in others} == {"succeeded"}
    assert len(crew.marks("start")) == 3


def test_a_stop_that_comes_too_late_kills_nobody(crew: Crew) -> None:
    """Race of stop and success: the wish is for another lease than the slot has by now."""
    worker = crew.start()
    first = crew.enqueue("sleep", seconds=0.4)
    crew.wait_mark("start", first)
    second = crew.enqueue("sleep", seconds=1.5)
    crew.wait_state(first, "succeeded")
    crew.wait_mark("start", second)
    supervisor = crew.supervisors()[0].id
    # As if it had been asked for just before the first one's end.
    crew.engine.redis.hset(crew.engine.keys.stops(supervisor), first, "the token of its lease")
    wait_for(lambda: not crew.engine.redis.exists(crew.engine.keys.stops(supervisor)), what="the wish to be forgotten")
    assert crew.wait_end(second).state == "succeeded"
    assert "killing slot" not in worker.text()


def test_many_stops_at_the_ends_of_short_jobs_harm_no_other_job(crew: Crew) -> None:
    """Race of stop and success: each job ends as succeeded or as stopped, none twice, and no other one is lost."""
    crew.tenant("acme", cap=None)
    crew.start(processes=2)
    jobs = [crew.enqueue("sleep", seconds=0.45, fields={"max_attempts": 1}) for _ in range(16)]
    wished = set()
    for job in jobs:
        crew.wait_mark("start", job, seconds=40)
        if crew.engine.scripts.stop(job, note="race") == "stopping":
            wished.add(job)
    ends = {job: crew.wait_end(job, seconds=40) for job in jobs}
    assert {view.state for view in ends.values()} <= {"succeeded", "cancelled"}
    assert {job for job, view in ends.items() if view.state == "cancelled"} <= wished
    assert (deaths(crew), crew.running()) == (0, 0)


def test_the_supervisor_is_killed_right_after_the_stop(crew: Crew) -> None:
    """Whoever ends the lease obeys the mark: here the warden, as it has seen the slot dead."""
    worker = crew.start()
    job = crew.enqueue("sleep", seconds=60)
    pid = crew.wait_mark("start", job)[0].pid
    stop(crew, job)
    worker.kill()
    view = crew.wait_end(job)
    assert (view.state, view.error_class, view.attempts) == ("cancelled", "Stopped", 1)
    wait_for(lambda: not is_alive(pid), what="the end of its process")
    crew.start()
    crew.wait_slots(1)
    assert (len(crew.marks("start", job)), deaths(crew), crew.running()) == (1, 0, 0)


def test_a_lease_that_runs_out_obeys_the_stop_too(crew: Crew) -> None:
    """Nobody is left who could kill: the rescue ends it as stopped, and no worker begins it again."""
    engine = crew.engine
    job = crew.enqueue("nothing")
    assert engine.scripts.claim("gone-0a1b2c3d-1.1", 1, "gone", ["bulk"], 0).job is not None
    stop(crew, job)
    engine.redis.zadd(engine.keys.leases(), {job: 1})
    crew.run_burst()
    assert crew.wait_end(job).state == "cancelled"
    assert (crew.marks("start", job), deaths(crew)) == ([], 0)


def test_a_slot_that_has_claimed_the_next_one_gives_that_back_unharmed(crew: Crew) -> None:
    """Between the last look and the kill the stopped job ended by itself, and another one had begun."""
    from jobops.engine.endings import _stop_slot

    engine = crew.engine
    first, second = crew.enqueue("nothing"), crew.enqueue("nothing", fields={"max_attempts": 1})
    claimed = engine.scripts.claim("h-0a1b2c3d-1.1", 1, "w", ["bulk"], 0).job
    assert claimed is not None
    stop(crew, first)
    settled = engine.scripts.settle(
        "h-0a1b2c3d-1.1", 2, first, claimed.token, Outcome.succeeded(), claim_lanes=["bulk"], worker="w"
    )
    assert settled.claim is not None
    assert settled.claim.job is not None
    _stop_slot(engine, "h-0a1b2c3d-1.1", "somebody stopped it")
    assert (crew.job(first).state, crew.job(second).state, crew.job(second).attempts) == ("succeeded", "queued", 0)
    crew.run_burst()
    assert crew.job(second).state == "succeeded"
