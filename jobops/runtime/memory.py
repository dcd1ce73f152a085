"""How full Redis is. Above a share of its memory new jobs wait in the outbox, so that running work has the rest."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError

from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.runtime.engine import get_engine

log = logging.getLogger("jobops.runtime")

SAMPLE_S = 1.0
"""Each process asks Redis at most once in so many seconds, however much it enqueues."""

EASED_BY = 0.05
"""It must have fallen by so much of the whole below the share, or jobs would go here and there by turns."""

CANNOT_TELL_S = 60.0
"""How long a Redis that refuses to tell (no such right) is not asked again."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What Redis told: bytes that count against its limit, and the limit (0: none)."""

    used: int = 0
    limit: int = 0

    @property
    def share(self) -> float:
        """Used by limit; 0 without one."""
        return self.used / self.limit if self.limit else 0.0


class MemoryGuard:
    """Whether new jobs have to wait outside. Safe to share between threads; a new engine is judged from scratch."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._next_at = 0.0
        self._tight = False
        self.reading = Reading()

    def is_tight(self) -> bool:
        """At most a second old. Raises what ``is_away`` knows when Redis does not answer."""
        engine, now = get_engine(), time.monotonic()
        if engine is not self._engine:
            self._engine, self._next_at, self._tight, self.reading = engine, 0.0, False, Reading()
        if now >= self._next_at:
            self._next_at = now + SAMPLE_S  # first, so that one thread asks and the others do not wait with it
            self._sample(engine, now)
        return self._tight

    def is_easy(self) -> bool:
        """Whether new jobs need not wait, by what was read less than a second ago; asks nobody."""
        return not self._tight and time.monotonic() < self._next_at and get_engine() is self._engine

    def why(self) -> str:
        """In words, as last read: what the guard is on for."""
        return f"Redis is at {self.reading.share:.0%} of its memory".replace("%", " %")

    def _sample(self, engine: Engine, now: float) -> None:
        try:
            told: Any = engine.redis.info("memory")
        except RedisError as error:
            if is_away(error):
                raise
            self._next_at, self._tight = now + CANNOT_TELL_S, False
            log.warning("Redis does not tell how full it is, enqueues do not look at it: %s", error)
            return
        # As Redis itself counts before it refuses: without the buffers for replicas and the append-only file.
        used = int(told.get("used_memory", 0)) - int(told.get("mem_not_counted_for_evict", 0))
        self.reading = Reading(used, int(told.get("maxmemory", 0)))
        most = settings.JOBOPS_REDIS_MEMORY_SHARE
        tight = most < 1 and self.reading.share > (most - EASED_BY if self._tight else most)
        if tight != self._tight:
            what = "enqueues go to the outbox" if tight else "all jobs flow again"
            log.log(logging.WARNING if tight else logging.INFO, "%s: %s", what, self.why())
        self._tight = tight


_guard = MemoryGuard()


def memory_guard() -> MemoryGuard:
    """The guard of this process."""
    return _guard
