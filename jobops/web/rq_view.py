"""Redis as RQ's own pages get to see it: read-only, and without anything that would make them act.

Those pages were written for a trusted dashboard: merely looking runs registry clean-ups, which import and call what a
job's hash names, send its webhooks, release its dependents and delete entries. Through this connection no write
reaches Redis, nothing has ever expired, and a hash names no callback and holds no pickle. It does not matter which
of RQ's classes read it.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Mapping
from typing import Any

from redis import Redis
from redis.client import Pipeline

READS = frozenset(
    "ECHO EXISTS GET HEXISTS HGET HGETALL HKEYS HLEN HMGET HSCAN INFO LINDEX LLEN LPOS LRANGE MGET PING PTTL SCARD "  # noqa: SIM905
    "SISMEMBER SMEMBERS SSCAN TIME TTL TYPE XLEN XRANGE XREVRANGE ZCARD ZCOUNT ZRANGE ZRANK ZREVRANGE "
    "ZREVRANGEBYSCORE ZSCORE".split()
)
NO_OP = ("EXISTS", "-")
"""Goes to Redis in place of everything else; its answer is 0: nothing was changed."""
STANDS_IN = {"ZRANGEBYSCORE": ("ZRANGE", "-", "0", "-1")}
"""RQ asks by score for what has expired: nothing ever has."""

ACTS = ("success_callback_name", "failure_callback_name", "stopped_callback_name", "webhooks")
SERIALIZED = ("data", "result", "meta")


class ViewedRedis(Redis):
    """A client that only reads."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # RESP2 answers with a flat list, which a callback pairs up; RESP3 with a mapping, and there is no callback.
        paired = self.response_callbacks.get("HGETALL", lambda answer, **options: answer)
        self.set_response_callback("HGETALL", lambda answer, **options: harmless(paired(answer, **options)))

    def execute_command(self, *args: Any, **options: Any) -> Any:
        return super().execute_command(*_reading(args), **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> ViewedPipeline:
        return ViewedPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class ViewedPipeline(Pipeline):
    """Its pipeline, which only reads too."""

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        return super().execute_command(*_reading(args), **kwargs)  # type: ignore[no-untyped-call]

    def watch(self, *names: Any) -> None:
        """Nothing is written, so nothing has to be watched."""


def _reading(args: tuple[Any, ...]) -> tuple[Any, ...]:
    command = str(args[0]).upper()
    return args if command in READS else STANDS_IN.get(command, NO_OP)


def harmless(fields: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """A hash without the names of what RQ would import, call or send, and without anything it would unpickle."""
    kept = {key: value for key, value in fields.items() if key.decode(errors="replace") not in ACTS}
    for name in SERIALIZED:
        key = name.encode()
        if key in kept and b"origin" in kept and not is_json(kept[key]):
            kept[key] = b"null"
    return kept


def is_json(value: bytes) -> bool:
    """Whether a stored value is JSON, plain or deflated as RQ stores it."""
    with contextlib.suppress(zlib.error):
        value = zlib.decompressobj().decompress(value, 4 * 1024 * 1024)
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


class ShownJSON:
    """RQ's JSON serializer for looking: what is no JSON is shown as its text."""

    @staticmethod
    def dumps(value: object) -> bytes:
        """JSON bytes."""
        return json.dumps(value).encode()

    @staticmethod
    def loads(data: bytes) -> Any:
        """The value, or the text of what is none."""
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            return data.decode(errors="backslashreplace")
