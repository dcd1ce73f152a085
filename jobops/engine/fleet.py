"""The supervisor's children: started, watched, killed and buried. No Redis in here."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NoReturn

from jobops.engine.board import Board, Entry, Orders, Phase
from jobops.engine.link import Backoff
from jobops.engine.processes import describe_exit, has_ended, kill_group, open_pidfd, reap
from jobops.engine.slot_process import SUPERVISOR_SIGNALS
from jobops.engine.worker import BROKEN, DONE, RECYCLED

log = logging.getLogger("jobops.worker")

# A slot that ends this soon without having had a job did not come up: the next one waits a little.
EARLY_SECONDS = 2.0

Reason = Literal["", "timeout", "fenced", "release", "stopped"]


@dataclass(slots=True)
class Child:
    """A running slot. ``born`` on the monotonic clock, ``born_at`` on the wall clock, in seconds. ``jitter``: 0 to 1.
    ``condemned``: why the supervisor killed it."""

    index: int
    generation: int
    name: str
    pid: int
    pidfd: int | None
    lifeline: int
    born: float
    born_at: float
    jitter: float
    condemned: Reason = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A slot that is no more. ``code``: its exit code, below 0 for a signal, None if unknown."""

    child: Child
    code: int | None
    entry: Entry | None

    @property
    def is_orderly(self) -> bool:
        """Whether the slot ended by itself between two jobs. In the middle of one it never does: then the job ended the
        process, with whatever code."""
        at_rest = self.entry is not None and self.entry.phase in (Phase.IDLE, Phase.CLAIMING)
        return at_rest and not self.child.condemned and self.code in (DONE, RECYCLED)

    @property
    def how(self) -> str:
        """In words."""
        return describe_exit(self.code)


class Fleet:
    """The slots of one supervisor, by their place on the board.

    ``name_of(index, generation)`` names a slot; ``become(index, name, parent, lifeline)`` is what a child turns into.
    """

    def __init__(
        self,
        board: Board,
        name_of: Callable[[int, int], str],
        become: Callable[[int, str, int, int], NoReturn],
        before_fork: Callable[[], object] | None = None,
    ) -> None:
        self.board = board
        self.children: dict[int, Child] = {}
        self._name_of = name_of
        self._become = become
        self._before_fork = before_fork
        self._generations = [0] * board.size
        self._backoffs = [Backoff(first=0.1, cap=30.0) for _ in range(board.size)]
        self._start_at = [0.0] * board.size
        self._closed: set[int] = set()

    def start(self, index: int) -> None:
        """Forks a slot into place `index`. Call from the main thread only."""
        self._generations[index] = generation = self._generations[index] + 1
        name = self._name_of(index, generation)
        if self._before_fork is not None:
            self._before_fork()
        parent = os.getpid()
        read_end, write_end = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, SUPERVISOR_SIGNALS)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(write_end)
                    self.close_lifelines()
                    self._become(index, name, parent, read_end)
                finally:
                    os._exit(BROKEN)  # nothing may bring the child back into the supervisor's code
            self._enter(index, generation, name, pid, write_end)
        except OSError:
            os.close(write_end)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SUPERVISOR_SIGNALS)
            os.close(read_end)

    def _enter(self, index: int, generation: int, name: str, pid: int, write_end: int) -> None:
        with contextlib.suppress(OSError):  # the child did it itself, and may be gone again
            os.setpgid(pid, pid)
        self.board.assign(index, pid, generation, name)
        self.children[index] = Child(
            index=index,
            generation=generation,
            name=name,
            pid=pid,
            pidfd=open_pidfd(pid),
            lifeline=write_end,
            born=time.monotonic(),
            born_at=time.time(),
            jitter=random.random(),
        )

    def close_lifelines(self) -> None:
        """In a child: gives up the ends that only the supervisor may hold."""
        for child in self.children.values():
            os.close(child.lifeline)
            if child.pidfd is not None:
                os.close(child.pidfd)

    def start_missing(self) -> bool:
        """Starts a slot in every open, empty place whose pause after a failed start is over. Whether there was one."""
        now = time.monotonic()
        missing = [
            index
            for index in range(self.board.size)
            if index not in self.children and index not in self._closed and now >= self._start_at[index]
        ]
        for index in missing:
            try:
                self.start(index)
            except OSError as error:  # no more processes or descriptors for us at present
                log.error("cannot start a slot: %s", error)
                self._start_at[index] = now + self._backoffs[index].next()
        return bool(missing)

    def close(self, index: int) -> None:
        """Nobody is to be started in this place any more."""
        self._closed.add(index)

    @property
    def is_closed(self) -> bool:
        """Whether every place is."""
        return len(self._closed) == self.board.size

    def kill(self, child: Child, reason: Reason) -> None:
        """SIGKILL to the slot and all that its job started. It is buried by the next `bury`."""
        if not child.condemned:
            child.condemned = reason
            kill_group(child.pid, child.pidfd)

    def stop(self) -> None:
        """Asks every slot to end after its job."""
        for child in self.children.values():
            self.board.order(child.index, Orders.STOP)
            os.kill(child.pid, signal.SIGTERM)

    def bury(self) -> list[Ended]:
        """The slots that ended since the last call; their places are empty and their pids free afterwards."""
        return [self._bury(child) for child in list(self.children.values()) if has_ended(child.pid)]

    def _bury(self, child: Child) -> Ended:
        entry = self.board.read(child.index)
        # While it is not reaped nobody else can have its pid: what its job left running goes now, …
        kill_group(child.pid)
        # … and who still reads this pid from the board must not find it there once it is free.
        self.board.wipe(child.index)
        code = reap(child.pid)
        os.close(child.lifeline)
        if child.pidfd is not None:
            os.close(child.pidfd)
        del self.children[child.index]
        self._plan_next(child, code, entry)
        return Ended(child, code, entry)

    def _plan_next(self, child: Child, code: int | None, entry: Entry | None) -> None:
        had_work = entry is not None and bool(entry.lease or entry.succeeded or entry.failed)
        if code == DONE or had_work or time.monotonic() - child.born > EARLY_SECONDS:
            self._backoffs[child.index].reset()
            self._start_at[child.index] = 0.0
        else:
            self._start_at[child.index] = time.monotonic() + self._backoffs[child.index].next()
