"""Whether Redis answers. Once it did not, pages say so at once for a moment, instead of waiting for it one by one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

AWAY_S = 2.0
_away_until = 0.0


@contextmanager
def reading_redis() -> Iterator[None]:
    """Put around what a page reads from Redis. Raises ``redis.ConnectionError`` at once while Redis was found away
    less than ``AWAY_S`` ago; what the reading itself raises goes through."""
    global _away_until
    if time.monotonic() < _away_until:
        raise RedisConnectionError("it was away a moment ago")
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError):
        _away_until = time.monotonic() + AWAY_S
        raise


def forget() -> None:
    """Ask Redis again at the next reading."""
    global _away_until
    _away_until = 0.0
