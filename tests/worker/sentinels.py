"""A primary, two replicas and three Sentinels as real processes on loopback, to be failed over."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from redis import Redis
from redis.exceptions import RedisError

from jobops.embedded import find_binary
from tests.tools import wait_for

NAME = "mymaster"
PASSWORD = "s3cret/@"
SERVERS = 3
SENTINELS = 3


@dataclass
class Server:
    """One `redis-server`, in whatever role."""

    command: list[str]
    port: int
    password: str | None
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdin=null, stdout=null, stderr=null, start_new_session=True)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def client(self) -> Redis:
        return Redis(port=self.port, password=self.password, retry=None, socket_timeout=2)

    def info(self, section: str) -> dict[str, object]:
        """Empty while it does not answer."""
        with contextlib.suppress(RedisError), self.client() as client:
            return dict(client.info(section))
        return {}


class SentinelCell:
    """Starts all of it in ``folder`` and waits until the Sentinels could fail over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        ports = free_ports(SERVERS + SENTINELS)
        self.servers = [self._redis(port, None if port == ports[0] else ports[0]) for port in ports[:SERVERS]]
        self.sentinels = [self._sentinel(port, ports[0]) for port in ports[SERVERS:]]

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://:s3cret%2F%40@{hosts}/{NAME}/0"

    def primary(self) -> Server:
        """Whom the first Sentinel names."""
        with self.sentinels[0].client() as client:
            port = int(client.sentinel_get_master_addr_by_name(NAME)[1])
        return next(server for server in self.servers if server.port == port)

    def _sees_all(self, sentinel: Server) -> bool:
        with contextlib.suppress(RedisError), sentinel.client() as client:
            state = client.sentinel_master(NAME)
            replicas = client.sentinel_slaves(NAME)
            usable = [each for each in replicas if not each["is_disconnected"] and not each["is_sdown"]]
            return state["num-other-sentinels"] == SENTINELS - 1 and len(usable) == SERVERS - 1
        return False

    def __enter__(self) -> Self:
        try:
            for server in self.servers:
                server.start()
            wait_for(lambda: self.servers[0].info("replication").get("min_slaves_good_slaves") == 2, what="replication")
            for sentinel in self.sentinels:
                sentinel.start()
            wait_for(lambda: all(map(self._sees_all, self.sentinels)), seconds=30, what="Sentinels that know the cell")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for server in (*self.sentinels, *self.servers):
            server.kill()

    def _redis(self, port: int, primary: int | None) -> Server:
        folder = self._folder / f"redis-{port}"
        folder.mkdir(parents=True)
        lines = [f"port {port}", "bind 127.0.0.1", f"dir {folder}", 'save ""', f"logfile {folder}/log"]
        lines += [f'requirepass "{PASSWORD}"', f'masterauth "{PASSWORD}"', "repl-diskless-sync-delay 0"]
        # As the documentation says: a primary that was replaced takes no writes that nobody will ever see.
        lines += ["min-replicas-to-write 1", "min-replicas-max-lag 10"]
        lines += [f"replicaof 127.0.0.1 {primary}"] if primary else []
        (folder / "conf").write_text("\n".join(lines) + "\n")
        return Server([find_binary(), str(folder / "conf")], port, PASSWORD)

    def _sentinel(self, port: int, primary: int) -> Server:
        folder = self._folder / f"sentinel-{port}"
        folder.mkdir(parents=True)
        lines = [f"port {port}", "bind 127.0.0.1", f"dir {folder}", f"logfile {folder}/log"]
        lines += [f"sentinel monitor {NAME} 127.0.0.1 {primary} 2", f'sentinel auth-pass {NAME} "{PASSWORD}"']
        lines += [f"sentinel down-after-milliseconds {NAME} 1000", f"sentinel failover-timeout {NAME} 4000"]
        (folder / "conf").write_text("\n".join(lines) + "\n")
        return Server([find_binary(), str(folder / "conf"), "--sentinel"], port, None)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
