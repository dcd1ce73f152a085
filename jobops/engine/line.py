"""A slot's own line to Redis: one connection for one thread of one process, and next to nothing around it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any, Final

import hiredis
from hiredis import pack_command
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobops.engine.clock import MILLISECOND, now_ns
from jobops.engine.direct import RESTED_S, Direct, is_spent
from jobops.engine.link import is_demoted

_RESTED: Final = int(RESTED_S * 1000) * MILLISECOND
_READ_BYTES: Final = 65_536
_INCOMPLETE: Final = object()


class Line(Direct):
    """As `Direct`, but `call` is for one thread of one process only. ``meanwhile`` is called each time that a command
    is under way: what it does costs no time, as Redis works too.

    It asks the bare socket, where there is one: not with TLS, where the client's own way is taken.
    """

    def __init__(self, client: Redis, meanwhile: Callable[[], object]) -> None:
        super().__init__(client)
        self._meanwhile = meanwhile
        self._connection: Any = None
        self._socket: socket.socket | None = None
        self._reader = hiredis.Reader()
        self._buffer: Any = bytearray(_READ_BYTES)
        self._used_at = 0

    def call(self, *parts: Any) -> Any:
        """The answer of one EVALSHA. Raises what redis-py's client raises."""
        packed = pack_command(("EVALSHA", *parts))
        try:
            answer = self._exchange(packed)
        except ResponseError:
            raise
        except TimeoutError as error:
            self._close()
            raise RedisTimeoutError("Redis did not take the request, or not answer it, in time") from error
        except OSError as error:
            self._close()
            raise RedisConnectionError(f"the connection to Redis broke: {error}") from error
        except BaseException:
            self._close()
            raise
        if isinstance(answer, RedisError):
            if isinstance(answer, RedisConnectionError) or is_demoted(answer):
                self._close()
            raise answer
        return answer

    def _exchange(self, packed: bytes) -> Any:
        link, now = self._socket, now_ns()
        if link is None or now - self._used_at > _RESTED:
            link = self._make_ready()
        self._used_at = now
        if link is None:
            self._connection.send_packed_command([packed], check_health=False)
            self._meanwhile()
            return self._connection.read_response()
        try:
            sent = os.write(link.fileno(), packed)  # a socket with a time-out would ask first whether it is ready
        except BlockingIOError:
            sent = 0
        if sent < len(packed):
            link.sendall(packed[sent:])
        self._meanwhile()
        return self._read(link)

    def _read(self, link: socket.socket) -> Any:
        reader, buffer = self._reader, self._buffer
        while True:
            answer = reader.gets()
            if answer is _INCOMPLETE:
                size = link.recv_into(buffer)
                if not size:
                    raise RedisConnectionError("Redis closed the connection")
                reader.feed(buffer, 0, size)
            elif type(answer) is not hiredis.PushNotification:  # what a server says by itself is no answer
                return answer

    def _make_ready(self) -> socket.socket | None:
        """Looks after the connection. Answers its socket when calls are to go over that."""
        connection = self._connection
        if connection is None:
            connection = self._connection = self._pool.get_connection()
        elif now_ns() - self._used_at > _RESTED and is_spent(connection):
            self._close()
        if not connection.is_connected:
            connection.connect()  # by itself, sending goes back to the address it had, not to today's primary
        if self._socket is None:
            self._use(connection)
        return self._socket

    def _use(self, connection: Any) -> None:
        """Takes the socket of an open connection, where it is a plain one."""
        link = getattr(connection, "_sock", None)
        to_error = getattr(getattr(connection, "_parser", None), "parse_error", None)
        if type(link) is socket.socket and to_error is not None:
            self._socket = link
            self._reader = hiredis.Reader(protocolError=InvalidResponse, replyError=to_error, notEnoughData=_INCOMPLETE)

    def _close(self) -> None:
        self._socket = None
        if self._connection is not None:
            self._connection.disconnect()
