"""The slot's own connection for its claims and settles: no pool, no hooks, no bookkeeping around a round trip."""

from __future__ import annotations

from typing import Any, cast

from redis import Redis
from redis.exceptions import ResponseError

from jobops.engine.client import Engine
from jobops.engine.scripts import Scripts


class SlotConnection:
    """A Redis client whose `evalsha` goes over one connection that nobody else uses; all else is as before.

    For one thread. Sends nothing twice: after an error the connection is closed, and the next call opens it anew.
    """

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._connection = client.connection_pool.get_connection()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def evalsha(self, *parts: Any) -> Any:
        """As the client's. Raises what that raises."""
        connection = self._connection
        try:
            connection.send_command("EVALSHA", *parts, check_health=False)
            return connection.read_response()
        except ResponseError:
            raise
        except BaseException:
            connection.disconnect()
            raise


def slot_scripts(engine: Engine) -> Scripts:
    """The engine's commands over a connection of their own."""
    return Scripts(cast(Any, SlotConnection(engine.redis)), engine.keys)
