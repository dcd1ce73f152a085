"""What is asked of a source's Redis in one step each, in Lua: reading failures, taking them out, replaying, looking.

Keys are RQ's own (``<prefix>:job:<id>``, ``<prefix>:failed:<queue>``, …) and one of ours for each replay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from redis import Redis
from redis.exceptions import ResponseError

from dlq.foreign.lua import LOOK, PUSH, READ, TAKE
from jobops.engine.link import is_away

RECORD_LIMIT = 4 * 1024 * 1024
"""Bytes of a job's record; a larger one is not taken over."""
READ_LIMIT = 8 * 1024 * 1024
"""Bytes of all records that one call answers."""
MARK_S = 7 * 24 * 3600
"""How long a source remembers that a replay was pushed."""
LEAST_RESULT_TTL_S = 500
"""RQ's own default. A job that is forgotten sooner would be gone before anybody saw how its replay ended."""


class Entry(NamedTuple):
    """One member of a registry. ``state``: ``there``, ``gone``, ``odd`` (no record of RQ's) or ``large``; ``fields``
    and ``result`` (the newest of its results) are empty unless it is there."""

    rq_id: bytes
    score: bytes
    state: str
    fields: Mapping[bytes, bytes] = {}
    result_id: bytes = b""
    result: Mapping[bytes, bytes] = {}


class Look(NamedTuple):
    """``mark``: ``taken`` or ``left`` once the replay was pushed (``left``: it stood in the registry of failed jobs
    until then); ``status``: RQ's own word, or ``gone`` or ``odd``."""

    mark: str
    status: str
    ended_at: bytes


def mark_of(replay: str) -> str:
    """string: this replay was pushed; ``taken`` or ``left``."""
    return f"jobops:replayed:{replay}"


class Commands:
    """The steps on one source's Redis; each raises ``redis.RedisError``."""

    def __init__(self, client: Redis, prefix: str) -> None:
        self.client = client
        self.prefix = prefix
        self._read, self._take, self._push, self._look = (
            cast("Callable[..., Any]", client.register_script(text)) for text in (READ, TAKE, PUSH, LOOK)
        )

    def registry(self, queue: str) -> str:
        """zset: the queue's failed jobs, by when RQ forgets them."""
        return f"{self.prefix}:failed:{queue}"

    def read(self, queue: str, ids: Sequence[bytes]) -> list[Entry]:
        """The first of these failures, at least one, with their records; as many as ``READ_LIMIT`` has room for."""
        told = self._read(keys=[self.registry(queue)], args=[self.prefix, RECORD_LIMIT, READ_LIMIT, *ids])
        return [_entry(each) for each in told]

    def take(self, queue: str, failures: Sequence[tuple[bytes, bytes, bytes]]) -> int:
        """Take failures (id, score, ended_at) out of the registry, those that are still the same; answers how many."""
        if not failures:
            return 0
        flat = [part for failure in failures for part in failure]
        return int(self._take(keys=[self.registry(queue)], args=[self.prefix, *flat]))

    def push(self, replay: str, rq_id: str, queue: str, now: str, fields: Mapping[bytes, bytes]) -> str:
        """Have the job run again, once for each ``replay``: ``sent``, ``before``, or the status that forbids it."""
        flat = [part for field in fields.items() for part in field]
        args = [self.prefix, MARK_S, rq_id, queue, now, LEAST_RESULT_TTL_S, *flat]
        return _text(self._push(keys=[mark_of(replay)], args=args))

    def look(self, replay: str, rq_id: str) -> Look:
        """How the replay stands."""
        mark, status, ended_at = self._look(keys=[mark_of(replay)], args=[self.prefix, rq_id, MARK_S])
        return Look(_text(mark), _text(status), ended_at)

    def queues(self, *, thorough: bool, nameless: list[bytes] | None = None) -> list[str]:
        """All queues that have a registry of failed jobs. ``thorough``: also those that RQ lists no more. What is
        called so that nobody could print it is left out, and added to ``nameless``."""
        head = f"{self.prefix}:queue:".encode()
        members = cast("set[bytes]", self.client.smembers(f"{self.prefix}:queues"))
        found = {name[len(head) :] for name in members if name.startswith(head)}
        failed = f"{self.prefix}:failed:".encode()
        if thorough:
            keys = self.client.scan_iter(match=_escaped(failed) + b"*", count=1000)
            found |= {key[len(failed) :] for key in keys}
        if nameless is not None:
            nameless += sorted(name for name in found if not _is_text(name))
        return sorted(name.decode() for name in found if _is_text(name))

    def count_failed(self, queue: bytes) -> int:
        """How many failed jobs the registry of a queue has, whatever it is called; 0 for what is no registry."""
        try:
            return self.client.zcard(f"{self.prefix}:failed:".encode() + queue)
        except ResponseError as error:
            if is_away(error):
                raise
            return 0

    def pages(self, queue: str, count: int) -> Iterator[list[tuple[bytes, float]]]:
        """Ids of the registry with their scores, about ``count`` at once; all that stay there, whoever takes others out
        meanwhile: a place in their order would pass over some."""
        cursor = 0
        while True:
            cursor, page = cast(
                "tuple[int, list[tuple[bytes, float]]]", self.client.zscan(self.registry(queue), cursor, count=count)
            )
            yield page
            if not cursor:
                return


def _entry(told: Sequence[Any]) -> Entry:
    rq_id, score, state, *rest = told
    if not rest:
        return Entry(rq_id, score, _text(state))
    fields, result_id, result = rest
    return Entry(rq_id, score, _text(state), _pairs(fields), result_id, _pairs(result))


def _pairs(flat: Sequence[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _text(raw: bytes | str) -> str:
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw


def _is_text(raw: bytes) -> bool:
    try:
        return 0 < len(raw) <= 255 and raw.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _escaped(raw: bytes) -> bytes:
    return b"".join(b"\\" + bytes([byte]) if byte in b"*?[]\\" else bytes([byte]) for byte in raw)
