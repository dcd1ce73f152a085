"""A Redis behind Sentinels: whoever the primary is, everybody finds it by themselves."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.connection import SSLConnection
from redis.exceptions import RedisError

from jobops.engine import sentinel
from jobops.engine.client import Engine, connect
from jobops.engine.jobs import read_job
from jobops.engine.link import FAILURES, is_away
from jobops.engine.payload import encode
from jobops.engine.records import JobView, NewJob, Policy
from tests.chaos.theatre import SCHEDULER, WORKER, Service
from tests.chaos.verdict import count_lines, read_lines
from tests.conftest import LANES
from tests.runtime.processes import database_url
from tests.tools import wait_for
from tests.worker.crew import ENDED, Crew
from tests.worker.sentinels import SentinelCell


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[SentinelCell]:
    with SentinelCell(tmp_path / "cell") as cell:
        yield cell


@pytest.fixture
def services(cell: SentinelCell, transactional_db: None, tmp_path: Path) -> Iterator[list[Service]]:
    """A scheduler and a worker, as `manage.py` runs them."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "jobops.settings",
        "DATABASE_URL": database_url(),
        "JOBOPS_REDIS_URL": cell.url,
        "JOBOPS_JOB_MODULES": "tests.chaos.jobs",
        "JOBOPS_LOG_LEVEL": "INFO",
        "JOBOPS_TEST_MARKS": str(tmp_path / "marks"),
    }
    started = [Service(arguments, environment, tmp_path / f"{arguments[0]}.log") for arguments in (SCHEDULER, WORKER)]
    yield started
    codes = [service.stop() for service in started]
    assert codes == [0, 0], [service.log.read_text()[-2000:] for service in started]


def work(job_id: str, seconds: float, **fields: int) -> NewJob:
    data = encode("chaos.work", (), {"seconds": seconds})
    return NewJob(job_id, "acme", "bulk", "chaos.work", data, timeout_ms=30_000, max_attempts=2, **fields)


def again(engine: Engine, job: NewJob, seconds: float) -> float:
    """Enqueues a job as soon as that works; after how many seconds it did."""
    began = time.monotonic()

    def try_it() -> bool:
        try:
            return bool(engine.scripts.enqueue(job))
        except FAILURES as error:
            if not is_away(error):
                raise
            return False

    wait_for(try_it, seconds=seconds, what="an enqueue")
    return time.monotonic() - began


def ended_at_the_primary(engine: Engine, job_id: str) -> JobView | None:
    """The job if it has ended, asked of whoever is the primary now: the old one answers reads for a while."""
    with contextlib.suppress(RedisError):
        engine.redis.connection_pool.disconnect()
        view = read_job(engine, job_id)
        return view if view is not None and view.state in ENDED else None
    return None


@pytest.mark.django_db(transaction=True)
def test_a_killed_primary_is_followed_by_its_replica(
    cell: SentinelCell, services: list[Service], tmp_path: Path
) -> None:
    """RD-05: enqueue works again within 30 s, scheduler and worker go on as the same processes, a running job's outcome
    is saved, each delayed job runs once, and nothing looks like a flush: what was replicated is all there."""
    engine = Engine(connect(cell.url), lanes=LANES)
    epoch = engine.prepare()
    engine.scripts.set_policy(Policy("acme"))
    marks = tmp_path / "marks"
    engine.scripts.enqueue(work("long", 6.0))
    wait_for(lambda: count_lines(marks) == 1, seconds=30, what="its start")
    delayed = [work(f"delayed-{n}", 0.01, delay_ms=9000) for n in range(5)]
    engine.scripts.enqueue_many(delayed)
    before = [(service.process.pid, service.children()) for service in services]
    assert engine.redis.wait(2, 5000) == 2

    killed = cell.primary()
    killed.kill()
    assert again(engine, work("later", 0.01), seconds=30) < 30
    wait_for(lambda: Counter(line.word for line in read_lines(marks))["end"] == 7, seconds=40, what="all ends")
    assert cell.primary() is not killed
    assert Counter(line.job for line in read_lines(marks) if line.word == "start") == dict.fromkeys(
        ["long", "later", *(job.id for job in delayed)], 1
    )
    wait_for(lambda: engine.redis.hget("rq:job:long", "status") == b"finished", what="its outcome")
    assert engine.redis.zcard(engine.keys.leases()) == 0
    assert engine.scripts.epoch() == epoch
    assert [(service.process.pid, service.children()) for service in services] == before
    assert "flushed or restored" not in services[0].log.read_text()
    assert engine.redis.get(engine.keys.lock("scheduler")) is not None
    engine.redis.close()


def test_a_primary_that_was_replaced_is_left_though_it_lives(cell: SentinelCell, tmp_path: Path) -> None:
    """RD-04: for ten seconds the old primary still thinks that it is one, then it answers READONLY. It takes no writes,
    and nobody waits for it: the outcome of a job that ends meanwhile is saved, its worker's processes stay."""
    engine = Engine(connect(cell.url), lanes=LANES)
    engine.prepare()
    crew = Crew(engine, cell.url, tmp_path)
    try:
        crew.tenant()
        crew.start(processes=2)
        crew.wait_slots(2)
        pids = crew.workers[0].children()
        running = crew.enqueue("sleep", seconds=4, fields={"lease_ms": 30_000})
        crew.wait_mark("start", running)
        old = cell.primary()
        with cell.sentinels[0].client() as client:
            client.sentinel_failover("mymaster")
        wait_for(lambda: cell.primary() is not old, seconds=20, what="another primary")
        assert old.info("replication")["role"] == "master"
        again(engine, NewJob("x", "acme", "bulk", "nothing", b"{}"), seconds=20)
        view = wait_for(lambda: ended_at_the_primary(engine, running), seconds=15, what="the end of the job")
        assert (view.state, view.attempts) == ("succeeded", 1)
        again(engine, NewJob("late", "acme", "bulk", "nothing", b"{}"), seconds=5)
        wait_for(lambda: ended_at_the_primary(engine, "late"), seconds=15, what="the end of another one")
        assert crew.workers[0].children() == pids
    finally:
        crew.close()
        engine.redis.close()


def test_no_sentinel_at_all_is_a_redis_that_is_away() -> None:
    client = connect("redis+sentinel://:s3cret@127.0.0.1:1,127.0.0.1:2/mymaster")
    with pytest.raises(RedisError) as caught:
        client.ping()
    assert is_away(caught.value)
    assert "s3cret" not in str(caught.value)
    client.close()


def test_what_the_url_says() -> None:
    address = sentinel.parse(
        "rediss+sentinel://u:p%40@a.example:1,b,[::1]:3/main/2?sentinel_password=q&ssl_ca_certs=/ca"
    )
    assert address.sentinels == (("a.example", 1), ("b", 26379), ("::1", 3))
    assert (address.name, address.is_tls) == ("main", True)
    assert address.options == {"username": "u", "password": "p@", "db": 2, "ssl_ca_certs": "/ca"}
    assert address.sentinel_options == {"password": "q"}


def test_tls_is_spoken_with_sentinels_and_redis_alike() -> None:
    pool = sentinel.pool("rediss+sentinel://a/main?sentinel_password=q&ssl_ca_certs=/ca", socket_timeout=5.0)
    asking = pool.sentinel_manager.sentinels[0].connection_pool
    for each in (pool, asking):
        assert issubclass(each.connection_class, SSLConnection)
        assert each.connection_kwargs["ssl_ca_certs"] == "/ca"
    assert (asking.connection_kwargs["password"], asking.connection_kwargs["socket_timeout"]) == ("q", 1.0)
    assert pool.connection_kwargs["socket_timeout"] == 5.0
