"""Processes that stand still for longer than a lease: what they held goes on elsewhere; awake, they do no harm."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

import pytest

from jobops.embedded import EmbeddedRedis
from jobops.engine.processes import is_alive, is_stopped
from jobops.engine.records import NewJob
from tests.tools import wait_for
from tests.worker.crew import Crew, Mark

# After it wakes, a process whose lease was given away is dead within this time.
ZOMBIE_SECONDS = 1.0


def tell(signum: signal.Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        os.kill(pid, signum)


def ticks(crew: Crew, job: str, attempt: int) -> list[Mark]:
    return [mark for mark in crew.marks("tick", job) if mark.attempt == attempt]


def overlap_s(crew: Crew, job: str, *, since: float) -> float:
    """For how long after ``since`` the first attempt still did something."""
    return max((mark.at - since for mark in ticks(crew, job, 1)), default=0.0)


@pytest.mark.parametrize("warden", ["awake", "asleep"])
def test_a_worker_that_stood_still_as_a_whole_is_fenced_when_it_wakes(crew: Crew, warden: str) -> None:
    """LS-10: supervisor and slot are stopped past the lease, like a machine that sleeps if the warden is too. Another
    worker runs the next attempt; awake, the first one's run is ended at once and changes nothing, and it works on."""
    sleeper = crew.start()
    job = crew.enqueue("tick", seconds=4, ticks=str(crew.marks_file), fields={"timeout_ms": 60_000, "key": "k"})
    crew.wait_mark("tick", job)
    stopped = [sleeper.pid, *sleeper.children()[1 if warden == "awake" else 0 :]]
    slot = sleeper.children()[1]
    tell(signal.SIGSTOP, stopped)
    crew.start()
    wait_for(lambda: ticks(crew, job, 2), seconds=20, what="the second attempt")
    assert is_alive(slot) == (warden == "asleep")
    again = NewJob("again", "acme", "bulk", "tick", b"{}", key="k")
    assert crew.engine.scripts.enqueue(again).state == "coalesced", "its key is held, as it runs"
    awake = time.monotonic()
    tell(signal.SIGCONT, [pid for pid in stopped if is_alive(pid)])
    wait_for(lambda: not is_alive(slot), what="the end of the slot that had lost its lease")
    assert overlap_s(crew, job, since=awake) < ZOMBIE_SECONDS
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 2)
    assert [attempt.outcome for attempt in view.history] == ["worker_lost", "succeeded"]
    assert len(crew.marks("end", job)) == 1
    assert sleeper.process.poll() is None
    crew.wait_slots(2)
    assert crew.running() == 0


def test_what_a_slot_finished_in_its_sleep_counts_no_more(crew: Crew) -> None:
    """Its job ends in the instant in which it wakes: the settle is refused, the other attempt stands."""
    sleeper = crew.start(heartbeat_s=5, lease_s=30)
    job = crew.enqueue("sleep", seconds=3, fields={"lease_ms": 2000, "timeout_ms": 60_000})
    slot = crew.wait_mark("start", job)[0].pid
    tell(signal.SIGSTOP, [*sleeper.children(), sleeper.pid])
    crew.start()
    crew.wait_mark("start", job, count=2)
    # The slot alone, so that it comes to its end before anybody can kill it.
    tell(signal.SIGCONT, [slot])
    wait_for(lambda: "ended too late" in sleeper.text(), what="the refusal")
    tell(signal.SIGCONT, [*sleeper.children(), sleeper.pid])
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 2)
    assert len(crew.marks("start", job)) == 2
    assert crew.running() == 0


def test_a_slot_stopped_between_two_jobs_loses_neither(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    """Its settle got through and got it the next job, which it will never start: that one is taken from it."""
    crew = own_crew
    worker = crew.start()
    crew.wait_end(crew.enqueue("nothing"))  # its commands are loaded and its connections open
    first = crew.enqueue("sleep", seconds=1)
    slot = crew.wait_mark("start", first)[0].pid
    second = crew.enqueue("nothing")
    assert own_redis.pid is not None
    tell(signal.SIGSTOP, [own_redis.pid])
    crew.wait_mark("end", first)
    time.sleep(0.5)  # so that the settle is on its way
    tell(signal.SIGSTOP, [slot])
    wait_for(lambda: is_stopped(slot), what="the slot's standing still")
    tell(signal.SIGCONT, [own_redis.pid])
    assert crew.wait_end(first).attempts == 1
    assert crew.job(second).state == "started"
    view = crew.wait_end(second, seconds=30)
    assert (view.state, view.attempts, len(crew.marks("start", second))) == ("succeeded", 2, 1)
    assert not is_alive(slot)
    assert worker.process.poll() is None


def test_a_slot_stopped_before_it_could_settle_keeps_its_job_from_nobody(
    own_crew: Crew, own_redis: EmbeddedRedis
) -> None:
    """Its time-out does not apply any more, and its supervisor renews its lease: without an end the job would stay
    *started* for ever. As nobody can know that it ended well, it runs again."""
    crew = own_crew
    crew.start()
    job = crew.enqueue("sleep", seconds=1)
    slot = crew.wait_mark("start", job)[0].pid
    own_redis.kill()
    crew.wait_mark("end", job)
    tell(signal.SIGSTOP, [slot])
    wait_for(lambda: is_stopped(slot), what="the slot's standing still")
    own_redis.start()
    view = crew.wait_end(job, seconds=30)
    assert (view.state, view.attempts) == ("succeeded", 2)
    assert not is_alive(slot)


def test_a_slot_that_stood_still_idle_goes_on(crew: Crew) -> None:
    """It holds nothing: nobody kills it, others work meanwhile, and it works when it wakes."""
    crew.start(processes=2)
    idle, other = sorted(slot.pid for slot in crew.wait_slots(2))
    tell(signal.SIGSTOP, [idle])
    jobs = [crew.enqueue("nothing") for _ in range(3)]
    for job in jobs:
        assert crew.wait_end(job).attempts == 1
    tell(signal.SIGCONT, [idle])
    tell(signal.SIGSTOP, [other])
    late = crew.enqueue("nothing")
    assert crew.wait_end(late).attempts == 1
    assert crew.marks("start", late)[0].pid == idle
    tell(signal.SIGCONT, [other])
