"""What becomes of the lease of a slot whose process is gone, through a Redis that may be away for a while."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from dataclasses import dataclass
from typing import Any

from jobops.engine.board import Phase
from jobops.engine.client import Engine
from jobops.engine.clock import now_ns
from jobops.engine.errors import SlotClosed
from jobops.engine.fleet import Ended
from jobops.engine.link import FAILURES, is_away
from jobops.engine.records import Outcome
from jobops.engine.registrations import forget_slots

log = logging.getLogger("jobops.worker")

MOST_TRIES = 4


def release_slot(engine: Engine, slot: str) -> None:
    """Gives the lease of a dead slot back unharmed, if it has one, and closes the slot. May be called again after a
    lost answer. Call only when no process of this slot lives."""
    answer: Any = engine.redis.hmget(engine.keys.slot(slot), "seq", "job", "token")
    seq, job, token = answer
    if job and token:
        with contextlib.suppress(SlotClosed):  # the first try closed it, and its answer was lost
            engine.scripts.settle(slot, int(seq or 0) + 1, job.decode(), token.decode(), Outcome.released())
    engine.scripts.abandon(slot)


def _stop_slot(engine: Engine, slot: str, error: str) -> None:
    """Ends the lease of a slot that was killed as somebody stopped its job.

    Between the last look at the board and the kill the job may have ended and the slot have claimed the next one, which
    nobody stopped: that one goes back unharmed.
    """
    job: Any = engine.redis.hget(engine.keys.slot(slot), "job")
    if job and not engine.redis.hget(engine.keys.lease(job.decode()), "stop"):
        release_slot(engine, slot)
    else:
        engine.scripts.abandon(slot, "stopped", error)


@dataclass(slots=True)
class _Ending:
    slot: str
    released: bool
    cause: str
    error: str
    tries: int = 0
    not_before: float = 0.0

    def refused(self, error: Exception) -> bool:
        """Redis would not hear it. Whether to try again."""
        self.tries += 1
        self.not_before = time.monotonic() + 2.0**self.tries
        again = self.tries < MOST_TRIES
        log.error(
            "the end of slot %s cannot be told (%s)%s", self.slot, error, "" if again else "; its lease will run out"
        )
        return again


class Endings:
    """Slots whose end is still to be told to Redis, oldest first."""

    def __init__(self) -> None:
        self._waiting: deque[_Ending] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, ended: Ended) -> None:
        """Notes an end; what it means for the job follows from how it came about."""
        child = ended.child
        gracefully = child.condemned == "release" or ended.is_orderly
        cause, error = _explain(ended)
        if not gracefully:
            log.warning("slot %s (pid %d): %s", child.name, child.pid, error)
        self._waiting.append(_Ending(child.name, gracefully, cause, error))

    def tell(self, engine: Engine) -> None:
        """Tells Redis. Raises what says that Redis is away; the rest waits for the next call.

        One that Redis refuses, as its keys are damaged, keeps no other from being told, and is given up in the end.
        """
        for _ in range(len(self._waiting)):
            ending = self._waiting[0]
            try:
                if time.monotonic() < ending.not_before:
                    self._waiting.rotate(-1)
                    continue
                _tell(engine, ending)
            except FAILURES as error:
                if is_away(error):
                    raise
                if ending.refused(error):
                    self._waiting.rotate(-1)
                    continue
            self._waiting.popleft()


def _tell(engine: Engine, ending: _Ending) -> None:
    if ending.released:
        release_slot(engine, ending.slot)
    elif ending.cause == "stopped":
        _stop_slot(engine, ending.slot, ending.error)
    else:
        engine.scripts.abandon(ending.slot, ending.cause, ending.error)
    forget_slots(engine, [ending.slot])


def _explain(ended: Ended) -> tuple[str, str]:
    child, entry = ended.child, ended.entry
    lease = entry.lease if entry is not None and entry.phase is Phase.RUNNING else None
    if child.condemned == "stopped":
        return "stopped", "somebody stopped it"
    if child.condemned == "fenced":
        return "worker_lost", "its worker lost the lease and was killed"
    if lease is not None and (child.condemned == "timeout" or now_ns() > lease.hard):
        limit = (lease.hard - lease.started) / 1_000_000_000
        return "timeout", f"it did not end at its time-out and was killed after {limit:g} s"
    return "worker_lost", f"the process of its worker ended: {ended.how}"
