"""Promotion and rescue as every worker and scheduler does them: batch by batch, so that claims come in between."""

from __future__ import annotations

import logging
import statistics
import time
from collections import deque
from secrets import token_hex
from typing import Final

from jobops.engine.client import Engine

# So long a batch is to keep Redis, and so long at most a claim then waits for it (`bench/promotion.py`,
# `bench/rescue.py`).
BATCH_SECONDS: Final = 0.0045
# Between two batches, so that others' calls come in between.
PAUSE_SECONDS: Final = 0.001
# Between two looks for what is due, however soon the next job is.
LEAST_SECONDS: Final = 0.05
RECENT: Final = 8


class Batch:
    """How many jobs one call moves. Follows how long Redis takes for them; ``size`` is where it starts."""

    def __init__(self, size: int, *, least: int, most: int) -> None:
        self.size = size
        self._least = least
        self._most = most
        # Seconds a job, of the last batches. Their median, as what makes single answers late (other calls, a busy
        # machine) does not shrink with the batch.
        self._costs: deque[float] = deque(maxlen=RECENT)

    def took(self, seconds: float) -> None:
        """A full batch took so long, as the caller sees it. Changes the size by half at most."""
        self._costs.append(max(seconds, 1e-6) / self.size)
        wanted = BATCH_SECONDS / statistics.median_low(self._costs)
        wanted = min(max(wanted, self.size / 2), self.size * 1.5)
        self.size = min(max(int(wanted), self._least), self._most)


class Sweep:
    """What the two have in common. ``every_s``: how often to look when nothing is known to be due; what another
    process did in the last part of that is left to it."""

    def __init__(self, engine: Engine, every_s: float, batch: Batch) -> None:
        self.batch = batch
        self._engine = engine
        self._every_s = every_s
        self._by = token_hex(8)
        self._interval_ms = int(every_s * 800)

    def step(self) -> float:
        """Moves one batch, if it is to be done. Answers how many seconds later to come again. Raises as `Scripts`."""
        raise NotImplementedError

    def _note(self, began: float) -> None:
        self.batch.took(time.monotonic() - began)


class Promotion(Sweep):
    """Moves delayed jobs that are due to their queues."""

    def __init__(self, engine: Engine, every_s: float) -> None:
        super().__init__(engine, every_s, Batch(500, least=200, most=2000))

    def step(self) -> float:
        """As `Sweep.step`."""
        size, began = self.batch.size, time.monotonic()
        promoted = self._engine.scripts.promote(limit=size, min_interval_ms=self._interval_ms, by=self._by)
        if promoted.moved >= size:
            self._note(began)
        if promoted.wait_ms is None:
            return self._every_s
        if promoted.wait_ms == 0:
            return PAUSE_SECONDS
        return min(self._every_s, max(LEAST_SECONDS, promoted.wait_ms / 1000))

    def drain(self) -> int:
        """Moves all that is due, whatever others do. Answers how many jobs. Raises as `Scripts`."""
        moved = 0
        while True:
            promoted = self._engine.scripts.promote(limit=self.batch.size)
            moved += promoted.moved
            if promoted.wait_ms != 0:
                return moved


class Rescue(Sweep):
    """Ends leases that ran out. ``hold_ms``: one full lease; after a gap nothing is moved for that long."""

    def __init__(self, engine: Engine, every_s: float, hold_ms: int, log: logging.Logger) -> None:
        super().__init__(engine, every_s, Batch(100, least=50, most=500))
        self._hold_ms = hold_ms
        self._log = log
        self._moved = 0
        self._dead = 0

    def step(self) -> float:
        """As `Sweep.step`."""
        size, began = self.batch.size, time.monotonic()
        rescued = self._engine.scripts.rescue(
            limit=size, hold_ms=self._hold_ms, min_interval_ms=self._interval_ms, by=self._by
        )
        self._moved += rescued.moved
        self._dead += rescued.dead
        if rescued.more:
            self._note(began)
            return PAUSE_SECONDS
        self._tell()
        return self._every_s

    def drain(self) -> int:
        """Ends all that ran out, whatever others do. Answers how many. Raises as `Scripts`."""
        moved = 0
        while True:
            rescued = self._engine.scripts.rescue(limit=self.batch.size, hold_ms=self._hold_ms)
            moved += rescued.moved + rescued.dead
            if not rescued.more:
                return moved

    def _tell(self) -> None:
        if self._moved or self._dead:
            self._log.warning(
                "rescued %d jobs whose lease had run out, %d of them died", self._moved + self._dead, self._dead
            )
        self._moved = self._dead = 0
