"""Redis comes and goes: which errors mean "wait and try again", and how long to wait."""

from __future__ import annotations

import errno
import random
import re
from collections.abc import Callable, Iterator
from typing import Final

from redis import exceptions

from jobops.engine.errors import EngineError

# No OSError: redis-py wraps those of its connections, and others (a file that cannot be opened) say nothing of Redis.
_AWAY: Final = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.ReadOnlyError,
    exceptions.MasterDownError,
    exceptions.OutOfMemoryError,
)
# Codes that a living server answers instead of running a command. redis-py takes some of them off the text and tells
# them by class; Redis 6.2 wraps those of a script in a longer text.
_REFUSES_ALL: Final = re.compile(
    r"\b(OOM|READONLY|MISCONF|LOADING|MASTERDOWN|BUSY|CLUSTERDOWN|NOREPLICAS|TRYAGAIN|UNBLOCKED)\b"
)
# Its server is a replica, or a primary that its replicas have left, maybe for another one: waiting on this connection
# may never help. redis-py takes the code off its own texts.
_DEMOTED: Final = re.compile(r"\b(READONLY|MASTERDOWN|NOREPLICAS)\b|read only replica")


# What a call to the engine raises when it does not get through, or is refused.
FAILURES: Final = (exceptions.RedisError, EngineError, OSError)


def is_away(error: BaseException | None) -> bool:
    """Whether an error says that Redis cannot work at present, and may later: away, loading, read-only, full."""
    for each in _chain(error, lambda error: error.__cause__):
        if isinstance(each, _AWAY):
            return True
        # A pipeline's error begins with the command, whose arguments may contain anything.
        if isinstance(each, exceptions.RedisError) and _REFUSES_ALL.search(str(each).rpartition("caused error: ")[2]):
            return True
    return False


def is_demoted(error: exceptions.RedisError) -> bool:
    """Whether the server says that it is no primary, or looks like one that was replaced."""
    told = isinstance(error, exceptions.ReadOnlyError | exceptions.MasterDownError)
    return told or bool(_DEMOTED.search(str(error)))


def is_starved(error: BaseException | None) -> bool:
    """Whether a call failed because this process may open no more descriptors: no waiting will help it."""
    errors = _chain(error, lambda error: error.__cause__ or error.__context__)
    return any(isinstance(each, OSError) and each.errno == errno.EMFILE for each in errors)


def _chain(
    error: BaseException | None, behind: Callable[[BaseException], BaseException | None]
) -> Iterator[BaseException]:
    """An error and those behind it. Each once: a chain of redis-py's may lead back to where it began."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = behind(error)


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
