"""How long a lane's jobs wait, every few seconds: what live traffic feels while something large goes on."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from jobops.engine.client import Engine
from jobops.engine.records import QueueView

KEPT = 180
KEPT_MS = 15 * 60_000
"""Samples are forgotten after so long without another one."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How long the longest waiting job of the lane had waited at that instant, in seconds; 0: none waited."""

    at: datetime
    seconds: float


def longest_wait(queues: Iterable[QueueView], lane: str, without: Collection[str] = ()) -> float:
    """The longest wait in the lane, in seconds; tenants in ``without`` wait because somebody chose it."""
    ages = (row.oldest_age_s for row in queues if row.lane == lane and row.tenant not in without)
    return max((age for age in ages if age is not None), default=0.0)


def keep_wait(engine: Engine, lane: str, seconds: float) -> None:
    """Keep one sample, as of Redis's clock. Raises ``redis.RedisError``."""
    key, now_ms = engine.keys.waits(lane), engine.scripts.now_ms()
    with engine.redis.pipeline(transaction=True) as pipe:
        pipe.lpush(key, f"{now_ms}:{round(seconds * 1000)}")
        pipe.ltrim(key, 0, KEPT - 1)
        pipe.pexpire(key, KEPT_MS)
        pipe.execute()


def read_waits(engine: Engine, lane: str) -> list[Wait]:
    """The samples kept, oldest first; what is no sample is passed over. Raises ``redis.RedisError``."""
    rows = engine.redis.lrange(engine.keys.waits(lane), 0, KEPT - 1)
    found = [_wait(raw) for raw in rows if isinstance(raw, bytes)]
    return [wait for wait in reversed(found) if wait is not None]


def _wait(raw: bytes) -> Wait | None:
    at, _, wait = raw.partition(b":")
    if not (at.isdigit() and wait.isdigit() and len(at) < 15 and len(wait) < 13):
        return None
    return Wait(datetime.fromtimestamp(int(at) / 1000, tz=UTC), int(wait) / 1000)
