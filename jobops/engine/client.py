"""A connection and the engine on it."""

from __future__ import annotations

from collections.abc import Mapping

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobops.engine.keys import Keys
from jobops.engine.scripts import Scripts


def connect(url: str, *, socket_timeout: float = 5.0) -> Redis:
    """A client for ``url`` (redis://, rediss:// or unix://) that never sends a command twice by itself.

    A command sent again after a cut connection may have been carried out already: a second claim would take a second
    job. Who repeats a claim or settle does so with its request number. ``socket_timeout`` in seconds.
    """
    return Redis.from_url(
        url,
        socket_timeout=socket_timeout,
        socket_connect_timeout=socket_timeout,
        retry=Retry(NoBackoff(), 0),
        retry_on_error=[],
        health_check_interval=0,
    )


class Engine:
    """The engine of one Redis: its lanes with their shares, its keys, its commands."""

    def __init__(self, redis: Redis, *, lanes: Mapping[str, float], prefix: str = "jobops") -> None:
        self.redis = redis
        self.lanes = dict(lanes)
        self.keys = Keys(prefix)
        self.scripts = Scripts(redis, self.keys)

    def prepare(self) -> str:
        """Pushes the lanes and makes the cell's epoch when there is none. Returns the epoch."""
        self.scripts.set_lanes(self.lanes)
        return self.scripts.epoch()
