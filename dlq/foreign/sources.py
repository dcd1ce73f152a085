"""The Redis servers of other installations: those that the settings name, and one that is typed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from jobops.engine.client import connect

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,49}")
SETTING = "JOBOPS_RQ_SOURCES"
PREFIX_OPTION = "rq_prefix"
"""In a source's URL: what its installation set as RQ_KEY_PREFIX."""

ANSWER_S = 5.0
"""How long a source may take for one command."""
PING_S = 2.0
"""How long a person waits to be told that it does not answer."""


class SourceError(Exception):
    """A source cannot be used; the text says which one and why, and holds no password."""


@dataclass(frozen=True)
class Source:
    """One installation: its name, its Redis, and how its keys begin."""

    name: str
    url: str = field(repr=False)
    prefix: str = "rq"

    def connect(self, answer_s: float = ANSWER_S) -> Redis:
        """A client that repeats nothing by itself. Raises ``SourceError`` for a URL that is none."""
        try:
            return connect(self.url, socket_timeout=answer_s)
        except (ValueError, KeyError) as error:
            raise SourceError(f"source {self.name}: {self.shown_url} is no URL of a Redis") from error

    @property
    def shown_url(self) -> str:
        """The URL without user, password and options."""
        return shown_url(self.url)

    def silent(self, error: RedisError) -> SourceError:
        """What to say when it does not answer, or refuses."""
        # redis-py's own text may repeat the URL's parts.
        return SourceError(f"source {self.name} ({self.shown_url}) does not answer: {type(error).__name__}")


def sources() -> dict[str, Source]:
    """Those that the settings name, by name."""
    return {name: source_of(name, url) for name, url in settings.JOBOPS_RQ_SOURCES.items()}


def source_of(name: str, url: str) -> Source:
    """The source of a URL, whose option ``rq_prefix`` is ours and not the client's."""
    place, mark, query = url.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    prefix = dict(options).get(PREFIX_OPTION) or "rq"
    rest = urlencode([(key, value) for key, value in options if key != PREFIX_OPTION])
    return Source(name, f"{place}?{rest}" if mark and rest else place, prefix)


def typed_source(url: str) -> Source:
    """The source of a URL that somebody typed: the one that has it in the settings, or one named after its place."""
    wanted = source_of("", url)
    for source in sources().values():
        if (source.url, source.prefix) == (wanted.url, wanted.prefix):
            return source
    place = shown_url(wanted.url).partition("://")[2].strip("/")
    name = re.sub(r"[^a-z0-9._-]+", "-", place.lower()).strip("-._")[:50]
    return Source(name or "redis", wanted.url, wanted.prefix)


def shown_url(url: str) -> str:
    """The URL as anybody may see it: without user, password and options."""
    scheme, _, rest = url.partition("://")
    # A password may stand before the host, and in the options.
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"


def ping(source: Source) -> str:
    """Why the source cannot be used now; empty if it can."""
    try:
        with source.connect(PING_S) as client:
            client.ping()
    except SourceError as error:
        return str(error)
    except RedisError as error:
        return str(source.silent(error))
    return ""
