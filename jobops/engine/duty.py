"""One of the things that a supervisor does again and again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from jobops.engine.link import is_away

log = logging.getLogger("jobops.worker")

LONGEST_PAUSE_S = 30.0
SHORTEST_PAUSE_S = 0.5


class Duty:
    """Calls ``action`` every so many seconds, or each time it is asked when that is 0; or so many seconds later as the
    action answers. One that fails waits longer each time and never stops what else there is to do."""

    def __init__(self, name: str, every_s: float, action: Callable[[], float | None]) -> None:
        self._name = name
        self._every_s = every_s
        self._action = action
        self._due = 0.0
        self._failures = 0

    def soon(self) -> None:
        """It is due now, unless it waits after a failure."""
        if not self._failures:
            self._due = 0.0

    @property
    def due(self) -> float:
        """The instant (monotonic, seconds) from which on it is due."""
        return self._due

    def attempt(self) -> None:
        """Does it if it is due. Raises only what says that Redis is away: then nothing else works either."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._every_s
        try:
            pause = self._action()
        except Exception as error:
            if is_away(error):
                raise
            self._postpone(error)
            return
        if pause is not None:
            self._due = time.monotonic() + pause
        if self._failures:
            log.warning("%s works again", self._name)
            self._failures = 0

    def _postpone(self, error: Exception) -> None:
        self._failures += 1
        pause = min(LONGEST_PAUSE_S, max(self._every_s, SHORTEST_PAUSE_S) * 2.0 ** min(self._failures, 10))
        self._due = time.monotonic() + pause
        if self._failures == 1:  # what follows would only fill the log
            log.error("%s failed, and is tried again later: %s: %s", self._name, type(error).__name__, error)
