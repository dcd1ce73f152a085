"""The whole system at one instant, read from the engine. Reading changes nothing in Redis."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from jobops.engine.client import Engine
from jobops.engine.queues import read_queues
from jobops.engine.records import QueueView
from jobops.metrics.minutes import History, MinuteReader

_reader = MinuteReader()


@dataclass(frozen=True, slots=True)
class Fleet:
    """Queues with something in them, and the counters of the last minutes.

    ``read_at``: aware, on Redis's clock. ``paused``: nothing is claimed for anybody.
    """

    read_at: datetime
    paused: bool
    queues: tuple[QueueView, ...]
    history: History


def read_fleet(engine: Engine, tenants: Collection[str] | None = None) -> Fleet:
    """Read the queues of these tenants, or (None) of all that have work, and everybody's counters.

    Raises ``redis.RedisError`` when Redis is away.
    """
    with engine.redis.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.get(engine.keys.epoch())
        pipe.hget(engine.keys.cell(), "paused")
        (seconds, micros), epoch, paused = pipe.execute()
    now_ms = int(seconds) * 1000 + int(micros) // 1000
    return Fleet(
        read_at=datetime.fromtimestamp(now_ms / 1000, tz=UTC),
        paused=paused == b"1",
        queues=tuple(read_queues(engine, tenants)),
        history=_reader.read(engine, (epoch or b"").decode(), now_ms),
    )
