"""The connection: a command is never sent twice by itself, and its errors reach the caller."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobops.engine.client import Engine, connect
from jobops.engine.link import is_away
from jobops.engine.records import Outcome, Policy
from jobops.engine.scripts import Scripts
from tests.engine.helpers import LANES, Slot, dump, job, queued, running


class Proxy:
    """Between a client and Redis. Told to, it loses the next reply to a script and cuts the connection."""

    def __init__(self, path: Path, upstream: str) -> None:
        self.url, self._upstream = f"unix://{path}", upstream
        self.lose_next = self.stall_next = False
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._open: list[socket.socket] = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                client, _ = self._server.accept()
                upstream = socket.socket(socket.AF_UNIX)
                upstream.connect(self._upstream)
                self._open += [client, upstream]
                threading.Thread(target=self._serve, args=(client, upstream), daemon=True).start()
        except OSError:
            return

    def _serve(self, client: socket.socket, upstream: socket.socket) -> None:
        try:
            while request := client.recv(1 << 20):
                upstream.sendall(request)
                reply = upstream.recv(1 << 20)
                if b"EVALSHA" in request and self.stall_next:
                    self.stall_next = False
                    continue
                if b"EVALSHA" in request and self.lose_next:
                    self.lose_next = False
                    client.shutdown(socket.SHUT_RDWR)
                    client.close()
                    return
                client.sendall(reply)
        except OSError:
            return

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def proxy(tmp_path: Path, redis_server: Any) -> Iterator[Proxy]:
    made = Proxy(tmp_path / "p.sock", redis_server.url.removeprefix("unix://"))
    yield made
    made.close()


@contextmanager
def through(proxy: Proxy, engine: Engine, **options: Any) -> Iterator[Scripts]:
    """The engine's commands through the proxy."""
    with connect(proxy.url, **options) as client:
        scripts = Scripts(client, engine.keys)
        scripts.load()
        yield scripts


def calls(engine: Engine) -> int:
    return int(engine.redis.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0))


def test_a_claim_whose_reply_was_lost_is_sent_once_and_again_gets_the_same_job(
    engine: Engine, scripts: Scripts, proxy: Proxy
) -> None:
    """Trap 1: a client that repeats the command by itself would take two jobs."""
    scripts.enqueue_many([job(f"j{n}") for n in range(3)])
    with through(proxy, engine) as far:
        proxy.lose_next, before = True, calls(engine)
        with pytest.raises(RedisConnectionError) as lost:
            far.claim("s", 1, "w", LANES)
        assert is_away(lost.value)
        assert calls(engine) == before + 1
        assert (running(engine), queued(engine)) == (1, ["j1", "j2"])
        claimed = far.claim("s", 1, "w", LANES).job
        assert claimed is not None
        assert (claimed.id, claimed.attempt, running(engine)) == ("j0", 1, 1)
        assert far.renew([(claimed.id, claimed.token)]) == [True]


@pytest.mark.parametrize("outcome", [Outcome.succeeded(), Outcome.failed("error"), Outcome.failed("poison")])
def test_a_settle_whose_reply_was_lost_gets_the_same_answer_and_the_same_next_job(
    engine: Engine, scripts: Scripts, proxy: Proxy, outcome: Outcome
) -> None:
    scripts.enqueue_many([job(f"j{n}") for n in range(3)])
    with through(proxy, engine) as far:
        slot = Slot(far, "s")
        claimed = slot.need()
        proxy.lose_next = True
        with pytest.raises(RedisConnectionError):
            slot.settle(claimed, outcome, claim=True)
        slot.seq -= 1
        before = dump(engine.redis)
        again = slot.settle(claimed, outcome, claim=True)
        assert dump(engine.redis) == before
        assert (
            again.outcome
            == {"succeeded": "succeeded", "error": "retry", "poison": "dead"}[outcome.cause or outcome.kind]
        )
        assert again.claim is not None
        assert again.claim.job is not None
        assert (again.claim.job.id, running(engine)) == ("j1", 1)


@pytest.mark.parametrize("many", [False, True])
def test_an_enqueue_whose_reply_was_lost_can_be_sent_again(
    engine: Engine, scripts: Scripts, proxy: Proxy, many: bool
) -> None:
    with through(proxy, engine) as far:
        proxy.lose_next = True
        with pytest.raises(RedisConnectionError):
            far.enqueue_many([job("a"), job("b")]) if many else far.enqueue(job("a"))
        assert far.enqueue(job("a")).state == "duplicate"
    assert queued(engine) == (["a", "b"] if many else ["a"])


def test_a_reply_that_does_not_come_is_a_time_out_and_nothing_is_sent_again(
    engine: Engine, scripts: Scripts, proxy: Proxy
) -> None:
    scripts.enqueue_many([job("a"), job("b")])
    with through(proxy, engine, socket_timeout=0.2) as far:
        proxy.stall_next, before = True, calls(engine)
        with pytest.raises(RedisTimeoutError):
            far.claim("s", 1, "w", LANES)
        assert calls(engine) == before + 1
        again = far.claim("s", 1, "w", LANES).job
        assert again is not None
        assert (again.id, queued(engine)) == ("a", ["b"])


def test_no_redis_is_a_connection_error_for_every_command(tmp_path: Path) -> None:
    scripts = Scripts(connect(f"unix://{tmp_path}/nobody.sock"))
    for command in (
        lambda: scripts.enqueue(job("a")),
        lambda: scripts.enqueue_many([job("a")]),
        lambda: scripts.claim("s", 1, "w", LANES),
        lambda: scripts.settle("s", 1, "a", "t", Outcome.succeeded()),
        lambda: scripts.renew([("a", "t")]),
        lambda: scripts.rescue(),
        lambda: scripts.promote(),
        lambda: scripts.now_ms(),
        lambda: scripts.wait_for_wake(LANES, 10),
        lambda: scripts.set_policy(Policy("acme")),
    ):
        with pytest.raises(RedisConnectionError) as away:
            command()
        assert is_away(away.value)


def test_a_redis_that_goes_and_comes_back_is_used_again(own_redis: Any) -> None:
    """Its scripts are gone with it, its append-only file is not."""
    with connect(own_redis.url) as client:
        engine = Engine(client, lanes={"bulk": 1.0})
        engine.prepare()
        engine.scripts.set_policy(Policy("acme"))
        engine.scripts.enqueue(job("a"))
        own_redis.stop()
        with pytest.raises(RedisConnectionError):
            engine.scripts.claim("s", 1, "w", ["bulk"])
        own_redis.start()
        claimed = engine.scripts.claim("s", 1, "w", ["bulk"]).job
        assert claimed is not None
        assert claimed.id == "a"


def test_importing_the_engine_imports_no_django() -> None:
    code = "import sys, jobops.engine.scripts, jobops.engine.jobs; sys.exit('django' in sys.modules)"
    assert subprocess.run([__import__("sys").executable, "-c", code], check=False, timeout=30).returncode == 0
