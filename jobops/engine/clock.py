"""The local clock of deadlines: nanoseconds that never step, the same in every process of one host.

Counts the time a suspended machine sleeps where the system can tell (Linux), as Redis's
leases go on expiring meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Final

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000

now_ns: Callable[[], int] = (
    partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic_ns
)
