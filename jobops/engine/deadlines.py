"""Which slots must be killed now, as read from the board: judged alike by the supervisor and by the warden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from jobops.engine.board import Board, Phase
from jobops.engine.clock import SECOND

# A record that stays half-written so long belongs to a process stopped in mid-writing, which nobody can judge.
UNREADABLE_NS = 5 * SECOND


class Verdict(NamedTuple):
    """Kill this process: ``timeout`` (past its time-out and the grace), or ``fenced`` (its lease may be over)."""

    place: int
    pid: int
    generation: int
    reason: Literal["timeout", "fenced"]


class Judge:
    """Reads the board again and again. ``slack``: nanoseconds the other one has to kill a job past its time-out."""

    def __init__(self, board: Board, slack: int = 0) -> None:
        self._board = board
        self._slack = slack
        self._unreadable: dict[tuple[int, int], int] = {}

    def overdue(self, now: int) -> Iterator[Verdict]:
        """Those to be killed at this instant. Only a running job is: an outcome that waits for Redis does no harm,
        its lease's token decides whether it still counts."""
        for index in range(self._board.size):
            pid, generation = self._board.pid(index)
            if not pid:
                continue
            entry = self._board.read(index)
            if entry is None:
                since = self._unreadable.setdefault((index, generation), now)
                if now - since > UNREADABLE_NS:
                    yield Verdict(index, pid, generation, "fenced")
                continue
            self._unreadable.pop((index, generation), None)
            lease = entry.lease
            if entry.phase is not Phase.RUNNING or lease is None:
                continue
            if now > lease.hard + self._slack:
                yield Verdict(index, pid, entry.generation, "timeout")
            elif now > lease.fence:
                yield Verdict(index, pid, entry.generation, "fenced")
