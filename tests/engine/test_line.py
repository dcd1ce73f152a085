"""A slot's line to Redis: over a bare socket, and as safe as the client's own connections."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import ConnectionPool, Redis
from redis.connection import UnixDomainSocketConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ReadOnlyError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobops.embedded import EmbeddedRedis
from jobops.engine.client import connect
from jobops.engine.direct import RESTED_S
from jobops.engine.line import Line

ECHO = "return ARGV[1]"
MIB = 1 << 20


class _Wrapped(socket.socket):
    """No bare socket, as one with TLS is none."""


class _WrappedConnection(UnixDomainSocketConnection):
    def _connect(self) -> socket.socket:
        bare = super()._connect()  # type: ignore[no-untyped-call]
        wrapped = _Wrapped(fileno=bare.detach())
        wrapped.settimeout(self.socket_timeout)
        return wrapped


class Rig:
    """A line, what it did meanwhile, and a client beside it."""

    def __init__(self, client: Redis, beside: Redis) -> None:
        self.client = client
        self.beside = beside
        self.meanwhile: Callable[[], object] = lambda: None
        self.line = Line(client, lambda: self.meanwhile())
        self.shas: dict[str, str] = {}

    def eval(self, script: str, *args: object) -> Any:
        if script not in self.shas:
            self.shas[script] = self.beside.script_load(script)
        return self.line.call(self.shas[script], 0, *args)

    def used(self) -> int:
        """Which connection a call goes over: the number of its socket's inode."""
        self.eval(ECHO, 1)
        return os.fstat(self.line._connection._sock.fileno()).st_ino


@pytest.fixture(params=["bare", "wrapped"])
def rig(request: pytest.FixtureRequest, redis_server: EmbeddedRedis) -> Iterator[Rig]:
    client, beside = connect(redis_server.url), connect(redis_server.url)
    if request.param == "wrapped":
        path = redis_server.url.removeprefix("unix://").partition("?")[0]
        client = Redis.from_pool(ConnectionPool(_WrappedConnection, path=path, socket_timeout=5.0))
    yield Rig(client, beside)
    beside.delete("line:asked", "line:seen")
    client.close()
    beside.close()


def test_every_answer_comes_over_one_connection(rig: Rig) -> None:
    assert [rig.eval(ECHO, n) for n in range(50)] == [b"%d" % n for n in range(50)]
    assert len({rig.used() for _ in range(3)}) == 1
    assert (rig.line._socket is None) == (type(rig.line._connection._sock) is _Wrapped)


def test_meanwhile_is_done_once_for_each_call_after_it_was_sent(rig: Rig) -> None:
    seen = []

    def meanwhile() -> None:
        deadline = time.monotonic() + 10
        while not rig.beside.exists("line:asked") and time.monotonic() < deadline:
            pass
        seen.append(rig.beside.getdel("line:asked"))

    rig.meanwhile = meanwhile
    for n in range(3):
        assert rig.eval("redis.call('SET', 'line:asked', ARGV[1]) return ARGV[1]", n) == b"%d" % n
    assert seen == [b"0", b"1", b"2"]


def test_large_requests_and_answers_pass_whole(rig: Rig) -> None:
    """More than a socket takes at once."""
    for size in (1, 70_000, 5 * MIB):
        data = os.urandom(size)
        assert rig.eval(ECHO, data) == data


def test_an_error_that_redis_answers_costs_no_connection(rig: Rig) -> None:
    before = rig.used()
    with pytest.raises(NoScriptError):
        rig.line.call("0" * 40, 0)
    with pytest.raises(ResponseError, match="wrong number"):
        rig.line.call(ECHO)
    assert rig.used() == before


def test_a_server_that_is_no_primary_any_more_is_left(redis_server: EmbeddedRedis) -> None:
    rig = Rig(connect(redis_server.url), connect(redis_server.url))
    before = rig.used()
    with pytest.raises(ReadOnlyError):
        rig.eval("return redis.error_reply('READONLY You can not write against a read only replica.')")
    assert rig.used() != before


def test_a_connection_that_the_server_closed_while_it_rested_is_replaced(rig: Rig) -> None:
    rig.eval(ECHO, 1)
    time.sleep(2 * RESTED_S)
    rig.beside.client_kill_filter(_type="normal", skipme=True)
    assert rig.eval(ECHO, 2) == b"2"


def test_a_connection_that_is_cut_under_a_call_is_told_and_the_next_call_opens_another(rig: Rig) -> None:
    before = rig.used()
    rig.meanwhile = lambda: rig.line._connection._sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(RedisConnectionError):
        rig.eval("redis.call('INCR', 'line:seen') for _ = 1, 1e7 do end return 1")
    rig.meanwhile = lambda: None
    assert rig.used() != before
    assert rig.beside.get("line:seen") == b"1"  # it is not sent again by itself


def test_a_server_that_answers_too_late_is_told_and_its_answer_is_nobodys(rig: Rig) -> None:
    before = rig.used()
    rig.line._connection._sock.settimeout(0.05)
    with pytest.raises(RedisTimeoutError):
        rig.eval("for _ = 1, 3e7 do end return 'late'")
    assert rig.eval(ECHO, "mine") == b"mine"
    assert rig.used() != before


def test_when_somebody_closes_its_connection_nothing_is_written_to_a_strangers_file(rig: Rig, tmp_path: Path) -> None:
    """The number of a closed descriptor goes to the next file that is opened."""
    rig.eval(ECHO, 1)
    number = rig.line._connection._sock.fileno()
    rig.line._connection.disconnect()
    with (tmp_path / "strangers").open("w+b", buffering=0) as file:
        assert file.fileno() == number
        with contextlib.suppress(RedisConnectionError):  # or it was noticed, and it opened another
            rig.eval(ECHO, 2)
        assert os.fstat(number).st_size == 0
        assert rig.eval(ECHO, 3) == b"3"


def test_what_the_server_says_by_itself_is_no_answer(redis_server: EmbeddedRedis) -> None:
    rig = Rig(connect(f"{redis_server.url}?protocol=3"), connect(redis_server.url))
    rig.eval(ECHO, 1)
    connection = rig.line._connection
    connection.send_command("CLIENT", "TRACKING", "ON", "BCAST")
    connection.read_response()
    for n in range(3):
        rig.beside.set("line:seen", n)
        assert rig.eval(ECHO, n) == b"%d" % n
