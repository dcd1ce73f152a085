"""Promotion and rescue, in a thread of their own: they touch Redis only, and no slow duty may delay them.

Any number of processes may do this at once: each step is one atomic command.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from jobops.engine.client import Engine
from jobops.engine.link import is_away
from jobops.engine.sweeps import Promotion, Rescue

log = logging.getLogger("jobops.scheduler")

TICK_S = 0.05
RESCUE_EVERY_S = 0.25
MAX_PAUSE_S = 2.0


@dataclass(slots=True)
class Step:
    """One of the two, with a pace and failures of its own: what stops one must not stop the other.

    ``work`` answers how many seconds later it wants to be called again.
    """

    name: str
    work: Callable[[], float]
    failures: int = 0
    due: float = 0.0

    def run(self) -> None:
        """Work if it is due; survives anything."""
        if time.monotonic() < self.due:
            return
        try:
            pause = self.work()
        except Exception as error:  # noqa: BLE001  (nothing may end the thread)
            self.failures += 1
            if self.failures == 1:
                log.error("%s failed: %s: %s", self.name, type(error).__name__, error)
            pause = min(MAX_PAUSE_S, TICK_S * 2.0 ** min(self.failures, 10))
        else:
            if self.failures:
                log.info("%s works again after %d failure(s)", self.name, self.failures)
                self.failures = 0
        self.due = time.monotonic() + pause


class Clockwork:
    """Moves delayed jobs that are due to their queues, and rescues expired leases, until ``stop`` is set."""

    def __init__(self, engine: Engine, stop: threading.Event, tick_s: float = TICK_S, lease_s: float = 30.0) -> None:
        """``lease_s``: the usual lease; after a gap nothing is rescued for that long."""
        self.engine = engine
        self.stop = stop
        self._promotion = Promotion(engine, tick_s)
        self._rescue = Rescue(engine, RESCUE_EVERY_S, int(lease_s * 1000), log)
        self.steps = (Step("promotion", self._promotion.step), Step("rescue", self._rescue.step))
        self._thread: threading.Thread | None = None

    def keep_running(self) -> None:
        """Start the thread, or start it again if it has died."""
        if self._thread is None or not self._thread.is_alive():
            if self._thread is not None:
                log.error("the thread of promotion and rescue had died; it is started again")
            self._thread = threading.Thread(target=self._run, name="clockwork", daemon=True)
            self._thread.start()

    def drain(self) -> int:
        """Promote and rescue all that is due now; answers how many jobs moved.

        Raises ExceptionGroup when one or both failed, after both were tried, and ``RedisError`` when Redis is away.
        """
        moved, failures = 0, []
        for sweep in (self._promotion, self._rescue):
            try:
                moved += sweep.drain()
            except Exception as error:
                if is_away(error):
                    raise
                failures.append(error)
        if failures:
            raise ExceptionGroup("promotion or rescue failed", failures)
        return moved

    def _run(self) -> None:
        while not self.stop.is_set():
            for step in self.steps:
                step.run()
            self.stop.wait(max(0.0, min(step.due for step in self.steps) - time.monotonic()))
