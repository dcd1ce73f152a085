"""Connections that leave a server which is the primary no more, so that the next call finds the one that is.

Behind a name, a virtual address or Sentinels the primary changes. The old one may live on as a replica and answer that
it is read-only, or be a primary without replicas for a while: who stays connected to it stays deaf.
"""

from __future__ import annotations

from typing import Any, Final

from redis.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import RedisError
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from jobops.engine.link import is_demoted


class _Leaving(AbstractConnection):
    """Closes itself when its server is no primary, or may not be; opened again, it looks where that is now."""

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        except RedisError as error:
            if is_demoted(error):
                self.disconnect()  # type: ignore[no-untyped-call]
            raise


class _TCP(_Leaving, Connection):
    pass


class _TLS(_Leaving, SSLConnection):
    pass


class _Unix(_Leaving, UnixDomainSocketConnection):
    pass


class _Managed(_Leaving, SentinelManagedConnection):
    pass


class _ManagedTLS(_Leaving, SentinelManagedSSLConnection):
    pass


LEAVING: Final[dict[type, type]] = {
    Connection: _TCP,
    SSLConnection: _TLS,
    UnixDomainSocketConnection: _Unix,
    SentinelManagedConnection: _Managed,
    SentinelManagedSSLConnection: _ManagedTLS,
}
"""redis-py's class → ours of the same kind."""
