"""Round trips to Redis with nothing around them: pack, send, read. A client's pool, hooks and metrics cost as much
again as the call itself."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Final

from hiredis import pack_command
from redis import Redis
from redis.exceptions import RedisError, ResponseError

RESTED_S: Final = 0.02
"""Seconds after which a connection is looked at before it is used: a server that was started anew has closed it. None
is started anew in less."""

TOGETHER: Final = 64
"""Commands sent at once: Redis works on them while the next are packed."""


class Direct:
    """EVALSHA over connections of ``client``'s pool that stay here. For any number of threads: one connection for each
    call under way. A forked child opens its own.

    Sends nothing twice: after an error the connection is closed, and the next call opens it anew, where Sentinels are
    asked to whatever is the primary then.
    """

    def __init__(self, client: Redis) -> None:
        self._pool = client.connection_pool
        self._pid = os.getpid()
        self._resting: list[tuple[Any, float]] = []

    def call(self, *parts: Any) -> Any:
        """The answer of one EVALSHA. Raises what redis-py's client raises."""
        packed = pack_command(("EVALSHA", *parts))
        connection = self._take()
        try:
            if not connection.is_connected:
                connection.connect()  # by itself, sending goes back to the address it had, not to today's primary
            connection.send_packed_command([packed], check_health=False)
            return connection.read_response()
        except ResponseError:
            raise
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._resting.append((connection, time.monotonic()))

    def many(self, calls: Sequence[Sequence[Any]]) -> list[Any]:
        """The answers of many, in order, in one round trip; an error that Redis answered stands in its place."""
        connection = self._take()
        try:
            if not connection.is_connected:
                connection.connect()
            for first in range(0, len(calls), TOGETHER):
                packed = [pack_command(("EVALSHA", *parts)) for parts in calls[first : first + TOGETHER]]
                connection.send_packed_command([b"".join(packed)], check_health=False)
            return [_answer(connection) for _ in calls]
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._resting.append((connection, time.monotonic()))

    def _take(self) -> Any:
        if self._pid != os.getpid():
            # Two processes on one connection would read each other's answers.
            self._pid, self._resting = os.getpid(), []
        try:
            connection, since = self._resting.pop()
        except IndexError:
            return self._pool.get_connection()
        if time.monotonic() - since > RESTED_S and is_spent(connection):
            connection.disconnect()
        return connection


def is_spent(connection: Any) -> bool:
    """Whether the server has closed the connection, or has said something that nobody asked for."""
    try:
        return bool(connection.can_read())
    except (RedisError, OSError):
        return True


def _answer(connection: Any) -> Any:
    try:
        return connection.read_response()
    except ResponseError as error:
        return error
