"""The threads of one run take turns at a key of ``once``: this process is asked who began it, before the database.

The row of an effect names the lease, which all threads of a run share: it cannot tell one of them from another.
"""

from __future__ import annotations

import os
import threading
from datetime import datetime

from jobops.context.models import OnceRecord
from jobops.contracts.running import RunningJob

_Key = tuple[int, str]


class WaitsForItself(Exception):
    """The key would never be free: whoever holds it waits for this thread, or is this thread."""


class _Turns:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.holders: dict[_Key, int] = {}
        self.waits: dict[int, _Key] = {}
        self.begun: set[tuple[int, datetime]] = set()

    def leads_to(self, thread: int, key: _Key) -> bool:
        """Whether who holds the key waits, at the end, for this thread."""
        holder = self.holders.get(key)
        while holder is not None and holder != thread and holder in self.waits:
            holder = self.holders.get(self.waits[holder])
        return holder == thread


_turns = _Turns()


def take(job: RunningJob, key: str) -> None:
    """Waits until no other thread of this run is within the key's block. The job's time-out bounds it.

    Raises WaitsForItself.
    """
    me, mine = threading.get_ident(), (id(job.saved), key)
    with _turns.changed:
        while mine in _turns.holders:
            if _turns.holders[mine] == me:
                raise WaitsForItself("this thread is within it already, and cannot wait for itself")
            if _turns.leads_to(me, mine):
                raise WaitsForItself("the thread within it waits for this thread, which cannot wait for it")
            _turns.waits[me] = mine
            try:
                _turns.changed.wait()
            finally:
                del _turns.waits[me]
        _turns.holders[mine] = me


def give_back(job: RunningJob, key: str) -> None:
    """The block has ended, and what came of it is written down: the next thread may look."""
    with _turns.changed:
        _turns.holders.pop((id(job.saved), key), None)
        _turns.changed.notify_all()


def note_begun(row: OnceRecord) -> None:
    """This process is at the effect of this row."""
    _turns.begun.add((row.pk, row.began_at))


def note_ended(row: OnceRecord) -> None:
    """What came of it is in the database."""
    _turns.begun.discard((row.pk, row.began_at))


def was_begun_here(row: OnceRecord) -> bool:
    """Whether this process began it, as the row says it. To whose turn it is now: it was left behind."""
    return (row.pk, row.began_at) in _turns.begun


def waiting() -> int:
    """How many threads of this process wait."""
    return len(_turns.waits)


def _begin_anew() -> None:
    global _turns
    _turns = _Turns()  # a forked child has one thread, and waits for none of its parent's


os.register_at_fork(after_in_child=_begin_anew)
