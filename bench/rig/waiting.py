"""Waiting for what a bench needs, with an end to it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable


def until(condition: Callable[[], object], seconds: float, what: str, *, every: float = 0.002) -> None:
    """Waits until ``condition()`` is true, asking so often. Raises TimeoutError naming ``what``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(every)


def end(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Ends processes that this bench started."""
    processes = list(processes)
    for process in processes:
        if process.poll() is None:
            process.kill()
    for process in processes:
        process.wait()
