"""Work that may hang on others, in a thread of its own: no duty, promotion or rescue waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger("jobops.scheduler")

MAX_PAUSE_S = 30.0


class Aside:
    """Does ``work`` again and again in a thread until ``stop`` is set; every process that runs does it, leader or not.

    ``work`` does one bounded portion, answers how much that was, and is right when several do it at once.
    ``every_s``: seconds until it is asked again when it found nothing. ``housekeeping`` is called before each portion,
    in the thread (database connections are a thread's own).
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], int],
        *,
        every_s: float = 1.0,
        housekeeping: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self.work = work
        self.every_s = every_s
        self.housekeeping = housekeeping
        self.failures = 0
        self._thread: threading.Thread | None = None

    def keep_running(self, stop: threading.Event) -> None:
        """Start the thread, or start it again if it has died."""
        if self._thread is None or not self._thread.is_alive():
            if self._thread is not None:
                log.error("the thread of %s had died; it is started again", self.name)
            self._thread = threading.Thread(target=self._run, args=(stop,), name=self.name, daemon=True)
            self._thread.start()

    def drain(self, rounds: int = 1000) -> int:
        """Do all there is now, in this thread; answers how much that was. Raises what ``work`` raises."""
        total = 0
        for _ in range(rounds):
            done = self.work()
            total += done
            if not done:
                break
        return total

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            stop.wait(self._step())

    def _step(self) -> float:
        """One portion; answers how many seconds to wait. Survives anything."""
        try:
            self.housekeeping()
            done = self.work()
        except Exception as error:  # noqa: BLE001  (nothing may end the thread)
            self.failures += 1
            if self.failures == 1:
                log.error("%s failed: %s: %s", self.name, type(error).__name__, error)
            return min(MAX_PAUSE_S, self.every_s * 2.0 ** min(self.failures, 10))
        if self.failures:
            log.info("%s works again after %d failure(s)", self.name, self.failures)
            self.failures = 0
        return 0.0 if done else self.every_s
