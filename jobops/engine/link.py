"""Redis comes and goes: which errors mean "wait and try again", and how long to wait."""

from __future__ import annotations

import errno
import random
import re
from typing import Final

from redis import exceptions

from jobops.engine.errors import EngineError

# No OSError: redis-py wraps those of its connections, and others (a file that cannot be opened) say nothing of Redis.
_AWAY: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.OutOfMemoryError,
)
# Codes that a living server answers instead of running a command. redis-py takes some of them off the text and tells
# them by class; Redis 6.2 wraps those of a script in a longer text.
_REFUSES_ALL: Final = re.compile(
    r"\b(OOM|READONLY|MISCONF|LOADING|MASTERDOWN|BUSY|CLUSTERDOWN|NOREPLICAS|TRYAGAIN|UNBLOCKED)\b"
)


# What a call to the engine raises when it does not get through, or is refused.
FAILURES: Final = (exceptions.RedisError, EngineError, OSError)


def is_away(error: BaseException | None) -> bool:
    """Whether an error says that Redis cannot work at present, and may later: away, loading, read-only, full."""
    while error is not None:
        if isinstance(error, _AWAY):
            return True
        # A pipeline's error begins with the command, whose arguments may contain anything.
        if isinstance(error, exceptions.RedisError) and _REFUSES_ALL.search(str(error).rpartition("caused error: ")[2]):
            return True
        error = error.__cause__
    return False


def is_starved(error: BaseException | None) -> bool:
    """Whether a call failed because this process may open no more descriptors: no waiting will help it."""
    while error is not None:
        if isinstance(error, OSError) and error.errno == errno.EMFILE:
            return True
        error = error.__cause__ or error.__context__
    return False


class Backoff:
    """Growing pauses between tries, in seconds, with jitter: `next()` until `reset()`."""

    __slots__ = ("_cap", "_first", "_now")

    def __init__(self, first: float = 0.05, cap: float = 1.0) -> None:
        self._first = first
        self._cap = cap
        self._now = first

    def next(self) -> float:
        """How long to wait before the next try."""
        pause = self._now
        self._now = min(self._cap, pause * 2)
        return pause * random.uniform(0.75, 1.25)

    def reset(self) -> None:
        """It worked again."""
        self._now = self._first
