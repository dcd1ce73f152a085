"""The life of a slot's process, from the fork to its exit code."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NoReturn

from jobops.engine.board import Board
from jobops.engine.client import Engine
from jobops.engine.lifeline import die_with
from jobops.engine.link import FAILURES, Backoff, is_away
from jobops.engine.worker import BROKEN, DONE, Slot
from jobops.engine.worker_options import Runner, WorkerOptions

log = logging.getLogger("jobops.worker")

SUPERVISOR_SIGNALS: Final = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD})


def become_slot(
    connect: Callable[[], Engine],
    runner: Runner,
    options: WorkerOptions,
    board: Board,
    index: int,
    name: str,
    parent: int,
    read_end: int,
) -> NoReturn:
    """Turns a freshly forked child into a slot. Never returns into the supervisor's code.

    Expects the signals of `SUPERVISOR_SIGNALS` to be blocked, so that none meets the supervisor's handlers here.
    """
    code = BROKEN
    try:
        os.setpgid(0, 0)
        die_with(parent, read_end)
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGINT, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(signum, signal.SIG_DFL)
        # What the supervisor loaded stays shared memory, and no collection walks it again.
        gc.freeze()
        if options.hooks.after_fork is not None:
            options.hooks.after_fork()
        code = _work(connect, runner, options, board, index, name)
    except BaseException:
        log.exception("slot %s broke down", name)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


def _work(
    connect: Callable[[], Engine],
    runner: Runner,
    options: WorkerOptions,
    board: Board,
    index: int,
    name: str,
) -> int:
    backoff = Backoff()
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SUPERVISOR_SIGNALS)
    while not stopping:
        try:
            return Slot(connect(), name, runner, options, board, index).run()
        except FAILURES as error:
            # Only before its first request: afterwards each request waits for Redis by itself.
            if not is_away(error) or board.is_busy(index):
                raise
            log.warning("slot %s: Redis is away (%s); trying again", name, error)
            time.sleep(backoff.next())
    return DONE
