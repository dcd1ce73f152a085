"""What waits in the outbox though it should not have to, for staff: since Redis is nearly full, or for a person."""

from __future__ import annotations

import time
from dataclasses import dataclass

from jobops.context.models import OutboxEntry
from jobops.runtime.memory import memory_guard

MOST_COUNTED = 10_000
"""Rows are counted up to this many: a page must not read an outbox of millions."""

PARKED_KEEP_S = 15.0
"""How old the number of parked rows may be: finding them reads the whole outbox."""


@dataclass(frozen=True, slots=True)
class Outside:
    """``memory``: why enqueues go to the outbox, empty when they do not; ``waiting``: rows there, then. ``parked``:
    rows that nobody pushes until a person decides. Both counts end at ``MOST_COUNTED``."""

    memory: str = ""
    waiting: int = 0
    parked: int = 0

    @property
    def most(self) -> int:
        return MOST_COUNTED


_parked: tuple[float, int] | None = None


def outside() -> Outside:
    """As of now; one query, or two while Redis is nearly full. Raises ``redis.RedisError``."""
    tight = memory_guard().is_tight()
    waiting = _count(OutboxEntry.State.WAITING) if tight else 0
    return Outside(memory_guard().why() if tight else "", waiting, _parked_rows())


def forget() -> None:
    """Count anew at the next call."""
    global _parked
    _parked = None


def _parked_rows() -> int:
    global _parked
    if _parked is None or time.monotonic() - _parked[0] >= PARKED_KEEP_S:
        _parked = (time.monotonic(), _count(OutboxEntry.State.PARKED))
    return _parked[1]


def _count(state: OutboxEntry.State) -> int:
    return OutboxEntry.objects.filter(state=state).order_by()[:MOST_COUNTED].count()
