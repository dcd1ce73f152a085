"""A connection and the engine on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from redis import ConnectionPool, Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobops.engine import sentinel
from jobops.engine.connections import LEAVING
from jobops.engine.keys import Keys
from jobops.engine.scripts import Scripts

Client = TypeVar("Client", bound=Redis)


def connect(url: str, *, socket_timeout: float = 5.0) -> Redis:
    """A client for ``url`` (redis://, rediss://, unix://, redis+sentinel:// or rediss+sentinel://) that never sends a
    command twice by itself.

    A command sent again after a cut connection may have been carried out already: a second claim would take a second
    job. Who repeats a claim or settle does so with its request number. ``socket_timeout`` in seconds.
    """
    return connect_as(Redis, url, socket_timeout=socket_timeout)


def connect_as(kind: type[Client], url: str, *, socket_timeout: float = 5.0) -> Client:
    """As `connect`, for a client class of the caller's."""
    options: dict[str, Any] = {
        "socket_timeout": socket_timeout,
        "socket_connect_timeout": socket_timeout,
        "retry": Retry(NoBackoff(), 0),
        "retry_on_error": [],
        "health_check_interval": 0,
    }
    if sentinel.is_sentinel(url):
        return cast(Client, kind.from_pool(sentinel.pool(url, **options)))
    pool = ConnectionPool.from_url(url, **options)
    pool.connection_class = LEAVING[pool.connection_class]
    return cast(Client, kind.from_pool(pool))


class Engine:
    """The engine of one Redis: its lanes with their shares, its keys, its commands."""

    def __init__(self, redis: Redis, *, lanes: Mapping[str, float], prefix: str = "jobops") -> None:
        self.redis = redis
        self.lanes = dict(lanes)
        self.keys = Keys(prefix)
        self.scripts = Scripts(redis, self.keys)
        self.on_prepare: Callable[[Engine], object] | None = None

    def prepare(self) -> str:
        """Pushes the lanes and what ``on_prepare`` adds, and makes the cell's epoch when there is none. Returns it."""
        self.scripts.set_lanes(self.lanes)
        if self.on_prepare is not None:
            self.on_prepare(self)
        return self.scripts.epoch()
