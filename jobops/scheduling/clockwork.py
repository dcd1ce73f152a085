"""Promotion and rescue, in a thread of their own: they touch Redis only, and no slow duty may delay them.

Any number of processes may do this at once: each step is one atomic command.
"""

from __future__ import annotations

import logging
import threading
import time

from jobops.engine.client import Engine

log = logging.getLogger("jobops.scheduler")

TICK_S = 0.05
PROMOTE_BATCH = 500
RESCUE_EVERY_S = 1.0
RESCUE_BATCH = 100
MAX_PAUSE_S = 2.0


class Clockwork:
    """Moves delayed jobs that are due to their queues, and rescues expired leases, until ``stop`` is set."""

    def __init__(self, engine: Engine, stop: threading.Event, tick_s: float = TICK_S, lease_s: float = 30.0) -> None:
        """``lease_s``: the usual lease; after a gap nothing is rescued for that long."""
        self.engine = engine
        self.stop = stop
        self.tick_s = tick_s
        self._hold_ms = int(lease_s * 1000)
        self.ticked_at = time.monotonic()
        self._rescue_at = 0.0
        self._failures = 0
        self._thread: threading.Thread | None = None

    def keep_running(self) -> None:
        """Start the thread, or start it again if it has died."""
        if self._thread is None or not self._thread.is_alive():
            if self._thread is not None:
                log.error("the thread of promotion and rescue had died; it is started again")
            self._thread = threading.Thread(target=self._run, name="clockwork", daemon=True)
            self._thread.start()

    def tick(self) -> bool:
        """One step; whether there is more to do at once. Raises ``RedisError``."""
        # Where another scheduler promoted a moment ago, there is nothing to do.
        promoted = self.engine.scripts.promote(limit=PROMOTE_BATCH, min_interval_ms=int(self.tick_s * 800))
        more = promoted.moved >= PROMOTE_BATCH
        if time.monotonic() >= self._rescue_at:
            rescued = self.engine.scripts.rescue(limit=RESCUE_BATCH, hold_ms=self._hold_ms)
            if rescued.moved or rescued.dead:
                log.warning("rescued %d job(s) of lost workers, %d of them gave up", rescued.moved, rescued.dead)
            full = rescued.moved + rescued.dead >= RESCUE_BATCH
            self._rescue_at = 0.0 if full else time.monotonic() + RESCUE_EVERY_S
        return more

    def drain(self) -> int:
        """Promote and rescue all that is due now; answers how many jobs moved. Raises ``RedisError``."""
        moved = 0
        while True:
            promoted = self.engine.scripts.promote(limit=PROMOTE_BATCH)
            rescued = self.engine.scripts.rescue(limit=RESCUE_BATCH, hold_ms=self._hold_ms)
            moved += promoted.moved + rescued.moved + rescued.dead
            if promoted.moved < PROMOTE_BATCH and rescued.moved + rescued.dead < RESCUE_BATCH:
                return moved

    def _run(self) -> None:
        while not self.stop.is_set():
            self.stop.wait(self._step())

    def _step(self) -> float:
        """One tick that survives anything; answers how many seconds to wait."""
        try:
            more = self.tick()
        except Exception as error:  # noqa: BLE001  (nothing may end this thread)
            self._failures += 1
            if self._failures == 1:
                log.error("promotion and rescue failed: %s: %s", type(error).__name__, error)
            return min(MAX_PAUSE_S, self.tick_s * 2.0 ** min(self._failures, 10))
        if self._failures:
            log.info("promotion and rescue work again after %d failure(s)", self._failures)
            self._failures = 0
        self.ticked_at = time.monotonic()
        return 0.0 if more else self.tick_s
