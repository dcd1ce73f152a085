"""The soft time-out: an alarm that `except Exception` cannot swallow.

`SoftTimeout` arms the process's real-time timer around a piece of code and raises
`JobTimeout` in the main thread when the time is up. A job that catches even that is
interrupted again about once a second, and `fired` still says afterwards that the
time-out struck. A job that native code keeps from the interpreter never sees the
alarm; the supervisor kills it a little later.
"""

from __future__ import annotations

import math
import signal
import time

# Without the enums around it: armed and disarmed for every job, those would cost more than all the rest.
from _signal import getsignal, setitimer  # type: ignore[import-not-found]
from _signal import signal as set_handler
from types import FrameType, TracebackType
from typing import Any, Final

REPEAT_SECONDS: Final = 1.0
# How soon to come back when the alarm lands inside our own bookkeeping.
SOON_SECONDS: Final = 0.001
_ALARM: Final = int(signal.SIGALRM)
_TIMER: Final = int(signal.ITIMER_REAL)
_DEFAULT: Final = int(signal.SIG_DFL)


class JobTimeout(BaseException):
    """The running job used up its time-out; `seconds` is the limit that was in force.

    Not an `Exception`, so that a broad `except Exception` around slow work lets it pass.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the job ran longer than its time-out of {seconds:g} s")
        self.seconds = seconds


# What an armed stretch found, and puts back when it ends: limit, deadline, handler, the timer's due time and interval.
_Before = tuple[float, float, Any, float, float]


class SoftTimeout:
    """A re-usable alarm for the main thread of a process: `with alarm(30.0): work()`.

    Calling it with a number of seconds (above 0) gives the context manager. Stretches
    may be nested: the nearest deadline strikes first, and what was armed before (also
    by somebody else's `setitimer`) goes on with the time it has left. An alarm that
    somebody else sent or armed strikes nobody before the deadline.

    `fired` tells whether the alarm has struck since the outermost stretch began, also
    when the code under it swallowed the `JobTimeout`. `handler` is its handler of SIGALRM:
    where that is in place already, a stretch need not set it. Between stretches it does nothing.
    """

    __slots__ = ("_deadline", "_limit", "_next", "_stack", "fired", "handler")

    def __init__(self) -> None:
        self.fired = False
        self._next = 0.0
        self._limit = 0.0
        self._deadline = 0.0
        self._stack: list[_Before] = []
        self.handler = self._strike

    def __call__(self, seconds: float) -> SoftTimeout:
        """Sets the limit of the next `with`; takes seconds, raises ValueError unless above 0."""
        if not 0 < seconds < math.inf:
            raise ValueError(f"seconds: a time-out is a number above 0, not {seconds!r}")
        self._next = seconds
        return self

    def __enter__(self) -> SoftTimeout:
        seconds = self._next
        if not self._stack:
            self.fired = False
        handler = getsignal(_ALARM)
        if handler is not self.handler:
            set_handler(_ALARM, self.handler)
        began = time.monotonic()
        due, interval = setitimer(_TIMER, seconds, REPEAT_SECONDS)
        due_at = began + due if due else 0.0
        self._stack.append((self._limit, self._deadline, handler, due_at, interval))
        if due and due < seconds:
            # What surrounds us ends first: its limit is ours too.
            setitimer(_TIMER, due, REPEAT_SECONDS)
            self._deadline = due_at
        else:
            self._limit = seconds
            self._deadline = began + seconds
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Flat on purpose: `_strike` stays quiet while this very frame is on top.
        setitimer(_TIMER, 0)
        self._limit, self._deadline, handler, due_at, interval = self._stack.pop()
        if getsignal(_ALARM) is not handler:
            set_handler(_ALARM, _DEFAULT if handler is None else handler)
        if due_at:
            left = due_at - time.monotonic()
            setitimer(_TIMER, max(left, SOON_SECONDS), interval)

    def _strike(self, _signal: int, frame: FrameType | None) -> None:
        if frame is not None and frame.f_code in _BOOKKEEPING:
            # Raising here would leave the timer in a state that nobody restores.
            # Entering: come back in a moment. Leaving: the work is done, it was in time.
            if frame.f_code is _ENTER:
                setitimer(_TIMER, SOON_SECONDS, REPEAT_SECONDS)
            return
        if not self._stack:
            return
        left = self._deadline - time.monotonic()
        if left > 0:
            # Not ours: a stray signal, or the job armed the timer for itself and thereby took it from us.
            setitimer(_TIMER, max(left, SOON_SECONDS), REPEAT_SECONDS)
            return
        self.fired = True
        raise JobTimeout(self._limit)


_ENTER: Final = SoftTimeout.__enter__.__code__
_BOOKKEEPING: Final = (_ENTER, SoftTimeout.__exit__.__code__)
