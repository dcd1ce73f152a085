"""The jobs that both sides run: the same functions, plain for RQ and under a contract for ours."""

from __future__ import annotations

import os
import time

from jobops import Backoff, job
from rig import marks

RESULTS = "BENCH_RESULTS"


@job(owner="bench", drain_sla="1h", idempotent="does nothing", timeout="30s", backoff=Backoff.fixed("1s"))
def noop() -> None:
    """Nothing."""


@job(owner="bench", drain_sla="1h", idempotent="one byte more in a file", timeout="30s", backoff=Backoff.fixed("1s"))
def mark() -> None:
    """Leaves a byte, as each peer's job does."""
    marks.mark()


@job(owner="bench", drain_sla="1h", idempotent="writes a line more", timeout="30s", backoff=Backoff.fixed("1s"))
def nap(seconds: float, enqueued: float, who: str) -> None:
    """Sleeps; notes who it was, when it was enqueued, started and ended (wall clock of this machine)."""
    started = time.time()
    time.sleep(seconds)
    line = f"{who} {enqueued!r} {started!r} {time.time()!r}\n"
    fd = os.open(os.environ[RESULTS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)
