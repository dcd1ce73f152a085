"""What jobs of one slot share besides memory, put back after each job: it may have changed it for the next one.

Cheap on purpose, as it runs for every job: a handful of system calls, and no more than a look at what is as it was.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

# Without the enums around them, as in `timeouts`.
from _signal import (  # type: ignore[import-not-found]
    SIG_SETMASK,
    getsignal,
    pthread_sigmask,
    setitimer,
)
from _signal import signal as set_handler
from collections.abc import Callable, Mapping
from typing import Any

_NONE: frozenset[int] = frozenset()
_TIMER = int(signal.ITIMER_REAL)


class Surroundings:
    """Take it in the slot's main thread once its own signal handlers are in place; ``handlers`` are more to set now.

    Kept: the signal mask (nothing blocked), those handlers, the real-time timer (off), the working directory, the
    umask, the recursion limit, no trace or profile function.
    """

    def __init__(self, handlers: Mapping[int, Callable[..., Any] | int]) -> None:
        self._handlers = [(int(signum), handler) for signum, handler in handlers.items()]
        for signum, handler in self._handlers:
            set_handler(signum, handler)
        self._folder = _folder()
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._depth = sys.getrecursionlimit()
        self._limits = _limits()

    def is_worn(self) -> bool:
        """Whether the last job took what nothing gives back: the process may open fewer files, or have less memory."""
        return _limits() != self._limits

    def restore(self) -> None:
        """Puts all of it back. Raises nothing that the surroundings can cause."""
        # The timer first and the mask last: a signal that waited must find our handler.
        setitimer(_TIMER, 0)
        for signum, handler in self._handlers:
            if getsignal(signum) != handler:
                set_handler(signum, handler)
        if sys.getrecursionlimit() != self._depth:
            sys.setrecursionlimit(self._depth)
        if sys.gettrace() is not None:
            sys.settrace(None)
        if sys.getprofile() is not None:
            sys.setprofile(None)
        os.umask(self._umask)
        if self._folder and _folder() != self._folder:
            with contextlib.suppress(OSError):  # it was removed, or moved away
                os.chdir(self._folder)
        pthread_sigmask(SIG_SETMASK, _NONE)


def _limits() -> tuple[tuple[int, int], tuple[int, int]]:
    return resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_AS)


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - for every job
    except OSError:
        return ""
