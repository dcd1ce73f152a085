"""The warden: a small process beside the supervisor that does its killing when it cannot.

While the supervisor is stopped or stuck (a debugger, a frozen disk, a Redis that does not answer), it kills slots whose
lease may be over or whose job is far past its time-out. When the supervisor is gone, it sees to it that no slot and no
process in a slot's group lives on, and then reports their leases lost at once instead of when they expire: it has seen
the slots dead.

A process that a job moved out of its slot's group (`setsid`, a daemon's double fork) is beyond its reach, as it is
beyond the supervisor's: nothing tells whose it was. docs/operations.md says so.

It opens a descriptor for each slot's process while the board still vouches for the pid, so that it never kills a
stranger that got the number later.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from jobops.engine.board import Board
from jobops.engine.client import Engine
from jobops.engine.clock import SECOND, now_ns
from jobops.engine.deadlines import Judge
from jobops.engine.link import FAILURES, Backoff, is_away
from jobops.engine.processes import is_alive, is_readable, kill_group, open_pidfd

log = logging.getLogger("jobops.worker")

# The supervisor goes first, as it knows what it kills for.
SLACK_NS = SECOND
# How long to go on trying to report after the end; then the leases expire by themselves.
REPORT_SECONDS = 30.0
DEATH_SECONDS = 5.0


@dataclass(slots=True)
class _Known:
    """A slot as seen while it lived."""

    pid: int
    generation: int
    pidfd: int | None
    name: str


class Warden:
    """Watches `board` until the supervisor's end of `lifeline` closes. ``poll_s``: how often it looks.

    ``report(engine, names)`` is called once the named slots are dead though their supervisor is not there to say so.
    """

    def __init__(
        self,
        board: Board,
        lifeline: int,
        poll_s: float,
        connect: Callable[[], Engine],
        report: Callable[[Engine, list[str]], object],
    ) -> None:
        self._board = board
        self._lifeline = lifeline
        self._poll_s = poll_s
        self._connect = connect
        self._report = report
        self._judge = Judge(board, SLACK_NS)
        self._known: dict[int, _Known] = {}

    def watch(self) -> None:
        """Returns when the supervisor is gone and all is put in order."""
        while True:
            if is_readable(self._lifeline, self._poll_s):
                break
            self._look()
            for verdict in self._judge.overdue(now_ns()):
                known = self._known.get(verdict.place)
                if known is not None and known.generation == verdict.generation:
                    kill_group(known.pid, known.pidfd)
        self._look()
        self._close_down()

    def _look(self) -> None:
        """Takes a descriptor of every slot that is new on the board."""
        for index in range(self._board.size):
            pid, generation = self._board.pid(index)
            known = self._known.get(index)
            if known is not None and (known.pid, known.generation) != (pid, generation):
                if known.pidfd is not None:
                    os.close(known.pidfd)
                del self._known[index]
                known = None
            if known is None and pid:
                pidfd = open_pidfd(pid)
                if self._board.pid(index) != (pid, generation):
                    if pidfd is not None:
                        os.close(pidfd)
                    continue  # it went while we looked: the descriptor may be of another process
                self._known[index] = _Known(pid, generation, pidfd, self._board.name(index))

    def _close_down(self) -> None:
        slots = list(self._known.values())
        for known in slots:
            kill_group(known.pid, known.pidfd)
        deadline = time.monotonic() + DEATH_SECONDS
        dead = [known.name for known in slots if _is_dead(known, deadline)]
        if not dead:
            return  # the supervisor left an empty board: it put everything in order itself
        backoff = Backoff()
        give_up = time.monotonic() + REPORT_SECONDS
        while True:
            try:
                self._report(self._connect(), dead)
                return
            except FAILURES as error:
                if not is_away(error) or time.monotonic() > give_up:
                    log.warning("could not report the end of %s: %s", ", ".join(dead), error)
                    return
                time.sleep(backoff.next())


def _is_dead(known: _Known, deadline: float) -> bool:
    """Whether it is seen dead before `deadline` (of the monotonic clock)."""
    if known.pidfd is not None:
        return is_readable(known.pidfd, deadline - time.monotonic())
    while is_alive(known.pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def become_warden(warden: Warden) -> NoReturn:
    """Turns a freshly forked child into the warden. Expects the supervisor's signals to be blocked; they stay so:
    only the end of the supervisor ends the warden."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        warden.watch()
        code = 0
    except BaseException:
        log.exception("the warden broke down")
    finally:
        os._exit(code)
