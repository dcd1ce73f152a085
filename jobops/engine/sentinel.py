"""A Redis whose primary is named by Sentinels: how it is written as a URL, and connections that follow the primary.

`redis+sentinel://[[user]:password@]host[:port][,host[:port]…]/NAME[/NUMBER][?options]`, and `rediss+sentinel://` with
TLS to Sentinels and Redis alike. User and password are those of Redis; the options are redis-py's, and
`sentinel_username` and `sentinel_password` where the Sentinels ask for one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool, SentinelManagedConnection, SentinelManagedSSLConnection

from jobops.engine.connections import LEAVING

SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")
EXAMPLE: Final = "redis+sentinel://[:PASSWORD@]HOST:26379,HOST2:26379/MASTERNAME/0"
PORT: Final = 26379
# A Sentinel answers from memory. One that does not must not hold up the way to the next.
ASK_SECONDS: Final = 1.0

_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:(?P<port>[0-9]{1,5}))?")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class SentinelAddress:
    """Which Sentinels to ask for which primary, and what redis-py's connections to it are to know."""

    sentinels: tuple[tuple[str, int], ...]
    name: str
    is_tls: bool
    options: dict[str, Any]
    sentinel_options: dict[str, Any]


def is_sentinel(url: str) -> bool:
    """Whether ``url`` names Sentinels."""
    return url.partition("://")[0].lower() in SCHEMES


def parse(url: str) -> SentinelAddress:
    """What ``url`` says. Raises ValueError whose text goes on after the name of what holds the URL, says what would be
    right and shows no password."""
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("?")
    netloc, _, path = place.partition("/")
    who, _, hosts = netloc.rpartition("@")
    name, _, number = path.partition("/")
    sentinels = tuple(_host(part.strip()) for part in hosts.split(","))
    if not _NAME.fullmatch(unquote(name)):
        raise ValueError(f"names no primary, as the Sentinels call it: use {EXAMPLE}")
    if not (number or "0").isdecimal():
        raise ValueError(f"names the database {number!r}: use a number, as in {EXAMPLE}")
    is_tls = scheme.lower() == "rediss+sentinel"
    try:
        options = parse_url(f"redis://{who}@localhost/{number or 0}?{query}")
    except ValueError as error:
        # The text of redis-py's own names the option; that of another may carry a part of the password.
        what = str(error) if "connection URL" in str(error) else "is a special character in it not percent-encoded?"
        raise ValueError(f"cannot be read as a URL ({what.rstrip('.')}): use {EXAMPLE}") from None
    options.pop("host", None)
    own = {key: options.pop(f"sentinel_{key}") for key in ("username", "password") if f"sentinel_{key}" in options}
    return SentinelAddress(sentinels, unquote(name), is_tls, options, own)


def _host(part: str) -> tuple[str, int]:
    match = _HOST.fullmatch(part)
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        # What is no host may be a piece of a password with a bare @ or / in it.
        raise ValueError(f"has no list of Sentinels (HOST:PORT, separated by commas): use {EXAMPLE}")
    return match["host"].strip("[]"), int(match["port"] or PORT)


class _Pool(SentinelConnectionPool):
    """Closes the connections to the Sentinels along with its own."""

    def close(self) -> None:
        super().close()
        self.sentinel_manager.close()


def pool(url: str, **options: Any) -> SentinelConnectionPool:
    """A pool of connections to whatever is the primary when each is opened. ``options``: redis-py's, over those of
    ``url``. Raises ValueError as `parse` does."""
    address = parse(url)
    secure = {key: value for key, value in address.options.items() if address.is_tls and key.startswith("ssl_")}
    wait = min(ASK_SECONDS, options.get("socket_timeout") or ASK_SECONDS)
    sentinel = Sentinel(
        address.sentinels,
        sentinel_kwargs={
            "socket_timeout": wait,
            "socket_connect_timeout": wait,
            "ssl": address.is_tls,
            "retry": Retry(NoBackoff(), 0),
            "retry_on_error": [],
            **secure,
            **address.sentinel_options,
        },
    )
    kind = LEAVING[SentinelManagedSSLConnection if address.is_tls else SentinelManagedConnection]
    return _Pool(address.name, sentinel, connection_class=kind, **{**address.options, **options})  # type: ignore[no-untyped-call]
