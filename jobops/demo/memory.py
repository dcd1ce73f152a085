"""A memory limit for one piece of work, enforced the way the kernel enforces a container's: by SIGKILL."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_LOOK_EVERY_S = 0.01


@contextmanager
def memory_limit(extra_bytes: int) -> Iterator[None]:
    """Kill this process when it has taken ``extra_bytes`` more memory than it had on entry.

    It does what a container's limit would do (no exception, no clean-up, no last words), without needing a container
    and before the machine itself runs short.
    """
    limit = _resident_bytes() + extra_bytes
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_EVERY_S):
            if _resident_bytes() > limit:
                os.kill(os.getpid(), signal.SIGKILL)

    watcher = threading.Thread(target=watch, name="memory limit", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except FileNotFoundError:  # no /proc: the highest so far (macOS counts in bytes, others in KiB)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
