"""The supervisor's hold on its warden."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable

from jobops.engine.board import Board
from jobops.engine.client import Engine
from jobops.engine.clock import SECOND
from jobops.engine.processes import has_ended, reap
from jobops.engine.registrations import forget_slots, mark_lost
from jobops.engine.slot_process import SUPERVISOR_SIGNALS
from jobops.engine.warden import Warden, become_warden
from jobops.engine.worker import BROKEN, fence_margin
from jobops.engine.worker_options import WorkerOptions

log = logging.getLogger("jobops.worker")

LONGEST_POLL_SECONDS = 0.25
DISMISSAL_SECONDS = 5.0


class WardenProcess:
    """Keeps one warden alive beside the supervisor."""

    def __init__(self, board: Board, options: WorkerOptions, connect: Callable[[], Engine], supervisor: str) -> None:
        self._board = board
        self._options = options
        self._connect = connect
        self._supervisor = supervisor
        self._pid = 0
        self._write_end = -1

    def ensure(self, close_in_child: Callable[[], object]) -> None:
        """Starts the warden when there is none. ``close_in_child`` gives up what only the supervisor may hold."""
        if self._pid and not has_ended(self._pid):
            return
        self._forget()
        if self._options.hooks.before_fork is not None:
            self._options.hooks.before_fork()
        read_end, write_end = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, SUPERVISOR_SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(write_end)
                    close_in_child()
                    become_warden(self._make(read_end))
                finally:
                    os._exit(BROKEN)  # nothing may bring the child back into the supervisor's code
        except OSError as error:  # no more processes for us at present
            log.error("cannot start the warden: %s", error)
            os.close(write_end)
            return
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SUPERVISOR_SIGNALS)
            os.close(read_end)
        self._pid, self._write_end = pid, write_end

    def _make(self, read_end: int) -> Warden:
        # A lease is never shorter than two heartbeats: often enough to be well inside its margin.
        margin_s = fence_margin(int(self._options.heartbeat_s * 2 * SECOND)) / SECOND
        poll_s = min(LONGEST_POLL_SECONDS, margin_s / 3)
        return Warden(self._board, read_end, poll_s, self._connect, self._report)

    def _report(self, engine: Engine, slots: list[str]) -> None:
        for slot in slots:
            engine.scripts.abandon(slot, "worker_lost", "its supervisor was killed, and it with it")
        forget_slots(engine, slots)
        mark_lost(engine, self._supervisor)

    def close_in_child(self) -> None:
        """In a slot: only the supervisor's end tells the warden that it lives."""
        if self._write_end >= 0:
            os.close(self._write_end)

    def dismiss(self) -> None:
        """Ends the warden, which finds the board empty."""
        if not self._pid:
            return
        os.close(self._write_end)
        self._write_end = -1
        deadline = time.monotonic() + DISMISSAL_SECONDS
        while not has_ended(self._pid):
            if time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
            time.sleep(0.01)
        self._forget()

    def _forget(self) -> None:
        if self._pid:
            reap(self._pid)
            self._pid = 0
        if self._write_end >= 0:
            os.close(self._write_end)
            self._write_end = -1
