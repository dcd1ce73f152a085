"""Two leaders at once."""

from __future__ import annotations

import os
import threading
import time

import pytest
from django.db import connection

from dlq.intake import take_in
from dlq.models import DeadLetter
from jobops.engine.client import Engine, connect
from tests.conftest import LANES
from tests.dlq.deaths import multiply, record_of_a_death, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def drain(engine: Engine, limit: int) -> int:
    done = 0
    while taken := take_in(engine, limit):
        done += taken
    return done


def test_two_threads_take_in_every_death_once(engine: Engine) -> None:
    multiply(engine, 300)
    start = threading.Barrier(3)
    failures: list[Exception] = []

    def work(limit: int) -> None:
        try:
            start.wait()
            drain(engine, limit)
        except Exception as error:
            failures.append(error)
            raise
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(limit,)) for limit in (20, 30, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert (waiting(engine), DeadLetter.objects.count()) == (0, 300)


def test_two_processes_while_deaths_come_in(engine: Engine, redis_server: object) -> None:
    """Two leaders: removal is by member, so neither throws away what the other has not read."""
    record = record_of_a_death(engine)
    multiply(engine, 200, record)
    connection.close()
    children = []
    for limit in (37, 50):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                own = Engine(connect(redis_server.url), lanes=LANES)  # type: ignore[attr-defined]
                deadline = time.monotonic() + 30
                while time.monotonic() < deadline and not own.redis.exists("test:stop"):
                    drain(own, limit)
                drain(own, limit)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    for _ in range(4):
        multiply(engine, 50, record)
    engine.redis.set("test:stop", 1)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0]
    assert (waiting(engine), DeadLetter.objects.count()) == (0, 400)
