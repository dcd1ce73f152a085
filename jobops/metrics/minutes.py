"""What happened minute by minute: the engine's counters, for windows and for small charts.

The engine keeps one hash a minute for 15 minutes. A minute that is over changes no more, so that each process reads
it once; only the running one, and the one before it for a moment, are read again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from jobops.engine.client import Engine
from jobops.engine.records import Counters

KEPT = 14
"""Whole minutes of history that are certain to be there, beside the running one."""
SETTLED_MS = 2_000
"""A minute counts as over so long after its end: until then a late counter may still arrive."""

FIELDS = {
    b"starts": "starts",
    b"retries": "retries",
    b"succeeded": "succeeded",
    b"dead": "dead",
    b"discarded": "discarded",
    b"lost": "lost",
    b"us": "worker_ms",
}
PER_UNIT = {"worker_ms": 1000}
"""Worker time is counted in microseconds and shown in milliseconds."""
Minute = Mapping[str, Counters]


@dataclass(frozen=True, slots=True)
class History:
    """Counters by tenant for the last minutes, oldest first; the last one is still running.

    ``now_ms`` is on Redis's clock.
    """

    now_ms: int
    minutes: tuple[Minute, ...]

    def window(self, minutes: int) -> dict[str, Counters]:
        """The sum over exactly so many minutes up to now, by tenant: what ``window_s`` is the length of.

        The engine counts by whole minutes: of the oldest one, the part that lies within counts, rounded.
        """
        sums: dict[str, dict[str, int]] = {}
        shares = [1 - self.now_ms % 60_000 / 60_000, *[1.0] * minutes]
        reach = self.minutes[-minutes - 1 :]
        for share, minute in zip(shares[-len(reach) :], reach, strict=True):
            for slug, counters in minute.items():
                mine = sums.setdefault(slug, dict.fromkeys(FIELDS.values(), 0))
                for name in mine:
                    mine[name] += int(getattr(counters, name) * share + 0.5)
        return {slug: Counters(**values) for slug, values in sums.items()}

    def window_s(self, minutes: int) -> float:
        """How long that window is, in seconds; it is shorter only where fewer minutes were read."""
        running_s = self.now_ms % 60_000 / 1000
        return min(minutes * 60.0, (len(self.minutes) - 1) * 60 + running_s)

    def closed(self, slug: str | None = None) -> list[Counters]:
        """One entry for each minute that is over, of one tenant or (None) of all together."""
        return [_of(minute, slug) for minute in self.minutes[:-1]]


def _of(minute: Minute, slug: str | None) -> Counters:
    if slug is not None:
        return minute.get(slug, Counters())
    rows = minute.values()
    return Counters(**{name: sum(getattr(row, name) for row in rows) for name in FIELDS.values()})


class MinuteReader:
    """Reads the minutes of one engine, and remembers those that are over. Safe to share between threads."""

    def __init__(self) -> None:
        self._over: dict[tuple[str, int], Minute] = {}
        self._lock = Lock()

    def read(self, engine: Engine, epoch: str, now_ms: int, minutes: int = KEPT) -> History:
        """The last ``minutes`` whole ones (at most ``KEPT``) and the running one.

        ``epoch`` tells one life of Redis from the next, ``now_ms`` is on Redis's clock.
        Raises ``redis.RedisError`` when Redis is away.
        """
        current = now_ms // 60_000
        wanted = range(current - min(minutes, KEPT), current + 1)
        with self._lock:
            known = {minute: self._over[epoch, minute] for minute in wanted if (epoch, minute) in self._over}
        missing = [minute for minute in wanted if minute not in known]
        pipe = engine.redis.pipeline(transaction=False)
        for minute in missing:
            pipe.hgetall(engine.keys.minute(minute, "tenant"))
        read = dict(zip(missing, map(parse, pipe.execute()), strict=True))
        with self._lock:
            over = {
                (epoch, minute): found for minute, found in read.items() if (minute + 1) * 60_000 + SETTLED_MS < now_ms
            }
            kept = {key: found for key, found in self._over.items() if key[0] == epoch and key[1] in wanted}
            self._over = kept | over
        return History(now_ms, tuple((known | read)[minute] for minute in wanted))


def parse(raw: Mapping[bytes, bytes]) -> Minute:
    """One minute's hash, ``<tenant>|<what>`` → count, as counters by tenant. Unknown fields are passed over."""
    sums: dict[str, dict[str, int]] = {}
    for key, value in raw.items():
        slug, _, what = key.rpartition(b"|")
        name = FIELDS.get(what)
        if name and slug and value.lstrip(b"-").isdigit():
            sums.setdefault(slug.decode("utf-8", "replace"), {})[name] = max(0, int(value)) // PER_UNIT.get(name, 1)
    return {slug: Counters(**values) for slug, values in sums.items()}
