"""The signals of a supervisor's main loop, as something to wait for."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from types import FrameType
from typing import Final

from jobops.engine.processes import is_readable

STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# One Ctrl-C often arrives twice, from the terminal and from whoever started us; that is no second wish.
ECHO_SECONDS: Final = 0.3


class Signals:
    """Counts stop signals and wakes the loop on any signal, also a child's end. Main thread only.

    ``stops``: 0, 1 (stop in good order) or 2 (hurry).
    """

    def __init__(self) -> None:
        self.stops = 0
        self._first = 0.0
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)

    def install(self) -> None:
        """From now on signals come here."""
        for signum in STOPPING:
            if signal.getsignal(signum) != signal.SIG_IGN:  # `nohup` means it
                signal.signal(signum, self._stop)
        signal.signal(signal.SIGCHLD, _noted)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def wait(self, seconds: float) -> None:
        """Sleeps until a signal comes, at most so long."""
        is_readable(self._reader.fileno(), seconds)
        with contextlib.suppress(BlockingIOError):
            while self._reader.recv(4096):
                pass

    def close_in_child(self) -> None:
        """A forked child has no part in this."""
        signal.set_wakeup_fd(-1)
        self._reader.close()
        self._writer.close()

    def _stop(self, _signum: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.stops == 0:
            self.stops, self._first = 1, now
        elif now - self._first > ECHO_SECONDS:
            self.stops = 2


def _noted(_signum: int, _frame: FrameType | None) -> None:
    """The wake-up is all there is to it."""
