"""Redis goes away for a while: processes stay, jobs go on, outcomes wait."""

from __future__ import annotations

import os
import signal
import time

from jobops.embedded import EmbeddedRedis
from tests.tools import wait_for
from tests.worker.crew import Crew


def slot_pids(crew: Crew) -> list[int]:
    return crew.workers[0].children()[1:]


def test_an_outcome_waits_for_a_restarted_redis(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    """Redis is killed in mid-job and comes back after the job's end: same processes, one attempt, succeeded."""
    crew = own_crew
    crew.start(processes=2)
    crew.wait_slots(2)
    before = slot_pids(crew)
    job = crew.enqueue("sleep", seconds=1, fields={"lease_ms": 30_000})
    crew.wait_mark("start", job)
    own_redis.kill()
    crew.wait_mark("end", job)
    time.sleep(1)
    own_redis.start()
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 1)
    assert slot_pids(crew) == before
    assert crew.wait_end(crew.enqueue("nothing")).state == "succeeded"


def test_redis_away_for_longer_than_the_lease(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    """Its slot is killed before the lease ends, as nobody can tell whether it was given away; the job runs again after
    Redis is back. A job of a longer lease is left alone, though rescue saw nothing for a while."""
    crew = own_crew
    crew.start(processes=2, socket_timeout=0.5)
    short = crew.enqueue(
        "sleep_at_first", seconds=12, fields={"timeout_ms": 60_000, "lease_ms": 2000, "max_attempts": 2}
    )
    long = crew.enqueue("sleep", seconds=9, fields={"timeout_ms": 60_000, "lease_ms": 60_000, "max_attempts": 2})
    first = crew.wait_mark("start", short)[0]
    crew.wait_mark("start", long)
    assert own_redis.pid is not None
    os.kill(own_redis.pid, signal.SIGSTOP)
    wait_for(lambda: first.pid not in slot_pids(crew), what="the end of the fenced slot")
    time.sleep(4.5)
    os.kill(own_redis.pid, signal.SIGCONT)
    second = crew.wait_mark("start", short, count=2, seconds=30)[1]
    assert second.attempt == 2
    view = crew.wait_end(long, seconds=30)
    assert (view.state, view.attempts, len(crew.marks("start", long))) == ("succeeded", 1, 1)
    assert crew.wait_end(short, seconds=30).attempts == 2


def test_a_worker_started_before_its_redis_waits_for_it(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    crew = own_crew
    job = crew.enqueue("nothing")
    own_redis.stop()
    worker = crew.start()
    wait_for(lambda: "Redis is away" in worker.text(), what="the first try")
    own_redis.start()
    assert crew.wait_end(job).state == "succeeded"


def test_a_worker_stops_though_redis_is_away(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    """Exit 0; the lease runs out by itself and the next worker rescues the job."""
    crew = own_crew
    worker = crew.start(drain_timeout_s=0.5)
    job = crew.enqueue("sleep", seconds=60, fields={"max_attempts": 2})
    crew.wait_mark("start", job)
    own_redis.kill()
    assert worker.stop(seconds=30) == 0
    own_redis.start()
    crew.start()
    assert crew.wait_mark("start", job, count=2, seconds=30)[1].attempt == 2
