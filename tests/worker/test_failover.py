"""Redis changes its role, loads, cuts connections or stays away: the processes stay, and no attempt is used up."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import Engine, connect
from jobops.engine.link import FAILURES, is_away, is_starved
from jobops.engine.records import NewJob, Policy
from jobops.engine.scripts import Scripts
from tests.conftest import LANES
from tests.tools import wait_for
from tests.worker.crew import Crew
from tests.worker.redis_stub import RedisStub


def read_only_for(crew: Crew, seconds: float) -> None:
    """The live server becomes a replica of nobody who answers, and then a primary again."""
    with Redis.from_url(crew.url) as admin:
        admin.config_set("replica-serve-stale-data", "yes")
        admin.execute_command("REPLICAOF", "127.0.0.1", "1")
        time.sleep(seconds)
        admin.execute_command("REPLICAOF", "NO", "ONE")


def test_a_redis_that_is_read_only_for_twenty_seconds_costs_nothing(own_crew: Crew) -> None:
    """RD-04: with leases of their usual 30 s. The worker's processes are the same, the outcome of a job that ended
    meanwhile is saved, one that still runs goes on, what waited and what was delayed runs once."""
    crew = own_crew
    crew.start(processes=2, heartbeat_s=5.0, lease_s=30.0)
    crew.wait_slots(2)
    pids = crew.workers[0].children()
    fields = {"lease_ms": 30_000, "timeout_ms": 60_000, "max_attempts": 1}
    ends, goes_on = crew.enqueue("sleep", seconds=2, fields=fields), crew.enqueue("sleep", seconds=22, fields=fields)
    waits = crew.enqueue("nothing", fields=fields)
    delayed = crew.enqueue("nothing", fields={**fields, "delay_ms": 3000})
    crew.wait_mark("start", goes_on)
    crew.wait_mark("start", ends)
    read_only_for(crew, 20)
    for job in (ends, goes_on, waits, delayed):
        view = crew.wait_end(job, seconds=15)
        assert (view.state, view.attempts, len(crew.marks("start", job))) == ("succeeded", 1, 1)
    assert crew.workers[0].children() == pids
    assert crew.running() == 0


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_an_address_that_moved_is_followed_though_the_old_server_lives(
    own_redis: EmbeddedRedis, tmp_path: Path, many: bool
) -> None:
    """RD-04: like a name or a virtual address. What is connected leads to the old server, a replica now."""
    address = tmp_path / "address"
    address.symlink_to(own_redis.url.removeprefix("unix://"))
    with EmbeddedRedis(tmp_path / "other") as other, connect(f"unix://{address}") as client:
        engine = Engine(client, lanes=LANES)
        for server in (own_redis, other):
            with connect(server.url) as admin:
                Engine(admin, lanes=LANES).prepare()
                Scripts(admin).set_policy(Policy("acme"))

        def enqueue(name: str) -> object:
            job = NewJob(name, "acme", "bulk", "nothing", b"{}")
            return engine.scripts.enqueue_many([job, job]) if many else engine.scripts.enqueue(job)

        enqueue("before")
        with Redis.from_url(own_redis.url) as admin:
            admin.execute_command("REPLICAOF", "127.0.0.1", "1")
        address.unlink()
        address.symlink_to(other.url.removeprefix("unix://"))
        answers = []
        for _ in range(2):
            try:
                answers = enqueue("after")
            except FAILURES as error:
                assert is_away(error)  # noqa: PT017
        assert answers
        with Redis.from_url(other.url) as there:
            assert there.lrange("rq:queue:acme.bulk", 0, -1) == [b"after"]


@pytest.mark.parametrize(
    "error", ["LOADING Redis is loading the dataset in memory", "MASTERDOWN Link with MASTER is down"]
)
def test_a_redis_that_answers_with_nothing_but_an_excuse_is_waited_for(
    own_crew: Crew, own_redis: EmbeddedRedis, error: str
) -> None:
    """RD-04: whatever is asked of it, also by new connections."""
    crew = own_crew
    crew.start(processes=2)
    crew.wait_slots(2)
    pids = crew.workers[0].children()
    job = crew.enqueue("sleep", seconds=1, fields={"lease_ms": 30_000, "max_attempts": 1})
    crew.wait_mark("start", job)
    own_redis.kill()
    with RedisStub(Path(own_redis.url.removeprefix("unix://")), error) as stub:
        crew.wait_mark("end", job)
        asked = stub.asked
        wait_for(lambda: stub.asked > asked + 5, what="some more tries")
    own_redis.start()
    view = crew.wait_end(job)
    assert (view.state, view.attempts) == ("succeeded", 1)
    assert crew.wait_end(crew.enqueue("nothing")).state == "succeeded"
    assert crew.workers[0].children() == pids


@contextlib.contextmanager
def again_and_again(action: Callable[[], object]) -> Iterator[None]:
    """Does it every few milliseconds, from another thread."""
    over = threading.Event()

    def loop() -> None:
        while not over.wait(random.uniform(0.005, 0.05)):
            with contextlib.suppress(RedisError):
                action()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_connections_that_are_cut_all_the_time_cost_no_job_a_second_start(crew: Crew) -> None:
    """The server closes every connection again and again, in the middle of whatever is under way."""
    jobs = [crew.enqueue("sleep", seconds=0.01, fields={"max_attempts": 1}) for _ in range(150)]
    retried = [crew.enqueue("fail", times=1, fields={"max_attempts": 2}) for _ in range(20)]
    with (
        Redis.from_url(crew.url) as admin,
        again_and_again(lambda: admin.client_kill_filter(_type="normal", skipme=True)),
    ):
        worker = crew.start(processes=2)
        wait_for(lambda: len(crew.marks("end")) == len(jobs + retried), seconds=60, what="all ends")
    for job in jobs + retried:
        view = crew.wait_end(job)
        assert (view.state, view.attempts) == ("succeeded", 2 if job in retried else 1)
    starts = Counter(mark.job for mark in crew.marks("start"))
    assert starts == {**dict.fromkeys(jobs, 1), **dict.fromkeys(retried, 2)}
    assert crew.running() == 0
    assert worker.stop() == 0


def test_a_chain_of_errors_that_leads_back_to_its_beginning_is_judged_too() -> None:
    """redis-py raises such ones, where a server refuses even the greeting: a supervisor hung there for ever."""
    first, second = ResponseError("refused"), ResponseError("refused before")
    first.__cause__, second.__cause__ = second, first
    assert not is_away(first)
    assert not is_starved(first)
    second.__cause__.__cause__ = RedisConnectionError("closed")
    assert is_away(first)


def test_outcomes_wait_for_a_redis_that_is_away_for_longer_than_their_leases(
    own_crew: Crew, own_redis: EmbeddedRedis
) -> None:
    """Trap 5: both jobs ended while it was away, with leases of 2 s; it is away for 5. Back, it takes nothing from
    anybody for one full lease, so the outcomes are settled: one attempt, one start, nothing twice."""
    crew = own_crew
    crew.start(processes=2, lease_s=3.0)
    fields = {"lease_ms": 2000, "max_attempts": 1}
    jobs = [crew.enqueue("sleep", seconds=0.8, fields=fields) for _ in range(2)]
    waits = crew.enqueue("nothing", fields=fields)
    for job in jobs:
        crew.wait_mark("start", job)
    pids = crew.workers[0].children()
    own_redis.kill()
    for job in jobs:
        crew.wait_mark("end", job)
    time.sleep(5)
    own_redis.start()
    back = time.monotonic()
    for job in (*jobs, waits):
        view = crew.wait_end(job)
        assert (view.state, view.attempts, len(crew.marks("start", job))) == ("succeeded", 1, 1)
    assert time.monotonic() - back < 5
    assert crew.workers[0].children() == pids
    assert crew.engine.scripts.dead_batch() == []


def test_delayed_jobs_are_on_time_after_a_restart(own_crew: Crew, own_redis: EmbeddedRedis) -> None:
    """RD-06, LS-07: five are due in 4 s, later than a lease; Redis restarts after one second. All run within
    due + lease, once, by the same two processes."""
    crew = own_crew
    crew.start(processes=2)
    crew.wait_slots(2)
    pids = crew.workers[0].children()
    enqueued = time.monotonic()
    jobs = [crew.enqueue("nothing", fields={"delay_ms": 4000, "max_attempts": 1}) for _ in range(5)]
    time.sleep(1)
    own_redis.restart()
    for job in jobs:
        crew.wait_end(job)
    starts = [mark.at - enqueued for job in jobs for mark in crew.marks("start", job)]
    assert len(starts) == 5
    assert min(starts) >= 4
    assert max(starts) < 4 + 3
    assert crew.workers[0].children() == pids
