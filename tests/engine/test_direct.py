"""The engine's own round trips: over connections that stay, and as safe as those of a client's pool."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError

from jobops.engine.client import Engine
from jobops.engine.direct import RESTED_S, TOGETHER, Direct
from tests.tools import wait_for

ECHO = "return ARGV[1]"
FAIL = "return redis.call('LPUSH', KEYS[1], '1')"


def clients(engine: Engine) -> int:
    return len(engine.redis.client_list())


@pytest.fixture
def direct(engine: Engine) -> Direct:
    return Direct(engine.redis)


@pytest.fixture
def echo(engine: Engine, direct: Direct) -> Callable[[object], bytes]:
    sha = engine.redis.script_load(ECHO)
    return lambda value: bytes(direct.call(sha, 0, value))


def test_all_calls_of_one_thread_go_over_one_connection(engine: Engine, echo: Callable[[object], bytes]) -> None:
    before = clients(engine)
    assert [echo(n) for n in range(20)] == [b"%d" % n for n in range(20)]
    assert clients(engine) == before + 1


def test_threads_never_read_each_others_answers(echo: Callable[[object], bytes]) -> None:
    wrong: list[str] = []

    def ask(name: str) -> None:
        wrong.extend(f"{name}{n}" for n in range(300) if echo(f"{name}{n}") != f"{name}{n}".encode())

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_are_answered_in_order_with_each_error_in_its_place(engine: Engine, direct: Direct) -> None:
    echo, fail = engine.redis.script_load(ECHO), engine.redis.script_load(FAIL)
    engine.redis.set("a-string", "x")
    calls: list[tuple[object, ...]] = [(echo, 0, n) for n in range(3 * TOGETHER + 1)]
    calls[TOGETHER] = (fail, 1, "a-string")
    answers = direct.many(calls)
    assert isinstance(answers[TOGETHER], ResponseError)
    del answers[TOGETHER], calls[TOGETHER]
    assert answers == [b"%d" % call[2] for call in calls]
    engine.redis.delete("a-string")


def test_a_refused_call_costs_no_connection(engine: Engine, direct: Direct, echo: Callable[[object], bytes]) -> None:
    echo(1)
    before, fail = clients(engine), engine.redis.script_load(FAIL)
    engine.redis.set("a-string", "x")
    for _ in range(3):
        with pytest.raises(ResponseError):
            direct.call(fail, 1, "a-string")
    assert echo(2) == b"2"
    assert clients(engine) == before
    engine.redis.delete("a-string")


def test_a_connection_that_the_server_closed_while_it_rested_is_replaced(
    engine: Engine, echo: Callable[[object], bytes]
) -> None:
    """As a client's pool does: who enqueues after a restart of Redis must not be told that Redis is away."""
    echo(1)
    time.sleep(2 * RESTED_S)
    engine.redis.client_kill_filter(_type="normal", skipme=True)
    assert echo(2) == b"2"


def test_a_call_that_was_cut_is_not_sent_again(engine: Engine, direct: Direct) -> None:
    """It may have been carried out: who asked has to say it again, with its request number."""
    slow = engine.redis.script_load("redis.call('INCR', 'asked') for _ = 1, 3e7 do end return 1")
    connection = direct._take()
    direct._resting.append((connection, time.monotonic()))
    connection._sock.settimeout(0.01)
    with pytest.raises(Exception, match="Timeout"):
        direct.call(slow, 0)
    wait_for(lambda: engine.redis.get("asked") == b"1", what="the call's end")
    assert not connection.is_connected
    engine.redis.delete("asked")


def test_a_forked_child_opens_a_connection_of_its_own(engine: Engine, echo: Callable[[object], bytes]) -> None:
    echo("before")
    child = os.fork()
    if child == 0:
        os._exit(0 if all(echo(f"child{n}") == f"child{n}".encode() for n in range(200)) else 1)
    assert all(echo(f"parent{n}") == f"parent{n}".encode() for n in range(200))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_server_that_is_gone_is_told_as_such(direct: Direct, echo: Callable[[object], bytes]) -> None:
    echo(1)
    connection = direct._take()
    connection.disconnect()
    connection.path = "/nowhere"
    direct._resting.append((connection, time.monotonic()))
    with pytest.raises(RedisConnectionError):
        echo(2)
