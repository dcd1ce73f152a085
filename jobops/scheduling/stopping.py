"""A prompt, clean end on SIGTERM and SIGINT."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from types import FrameType

log = logging.getLogger("jobops.scheduler")


class Stopper:
    """Sets ``event`` on a signal; if the process is still there ``grace_s`` seconds later, ends it with exit code 0.

    To be used where every step may be cut off at any instant, so that nothing is lost with a step that hangs.
    The handler only writes to a pipe: setting the event there could wait for a lock that the interrupted code holds.
    """

    def __init__(self, event: threading.Event, grace_s: float) -> None:
        self.event = event
        self.grace_s = grace_s
        self._reader, self._writer = os.pipe()

    def install(self) -> None:
        """Take over SIGTERM and SIGINT. From the main thread only."""
        threading.Thread(target=self._watch, name="stopper", daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        os.write(self._writer, b".")

    def _watch(self) -> None:
        os.read(self._reader, 1)
        self.event.set()
        time.sleep(self.grace_s)
        log.warning("something did not stop within %.0f s; leaving it behind", self.grace_s)
        os._exit(0)
