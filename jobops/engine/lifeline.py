"""A child does not outlive its supervisor, whatever kills that and whatever the child is busy with.

The supervisor holds the write end of a pipe, each slot the read end of its own. When the
supervisor is gone, the kernel closes the write end and

* on Linux sends SIGKILL to the slot's whole process group by itself (`F_SETSIG` on the pipe),
  so that what the job started goes too, and no interpreter lock can hold it up; the parent
  death signal stands behind that. It fires on the death of the forking *thread*, so slots are
  forked from the main thread only;
* elsewhere a thread waits for the end of the pipe.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import threading
from typing import Final

from jobops.engine.processes import LINUX

PR_SET_PDEATHSIG: Final = 1
# Linux's number; the fcntl module has no name for it everywhere.
F_SETSIG: Final = getattr(fcntl, "F_SETSIG", 10)


def die_with(parent: int, read_end: int) -> None:
    """Ties this process, the leader of its group, to `parent`; ends it at once if that is gone already."""
    if LINUX:
        _kill_group_at_end_of(read_end)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    else:
        threading.Thread(target=_watch, args=(read_end,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(1)


def _kill_group_at_end_of(read_end: int) -> None:
    fcntl.fcntl(read_end, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(read_end, F_SETSIG, signal.SIGKILL)
    flags = fcntl.fcntl(read_end, fcntl.F_GETFL)
    fcntl.fcntl(read_end, fcntl.F_SETFL, flags | os.O_ASYNC)


def _watch(read_end: int) -> None:
    os.read(read_end, 1)
    os.killpg(0, signal.SIGKILL)
