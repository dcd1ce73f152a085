"""Jobs of the chaos test: each leaves a line for its start and one for its end, in one append each."""

from __future__ import annotations

import os
import signal
import time

from jobops import Backoff, current_job, job

PROMISES = {"owner": "tests", "drain_sla": "1h", "idempotent": "its lines say which attempt wrote them"}


def line(word: str) -> None:
    """word, id, attempt, tenant, instant (the monotonic clock, one for all processes), pid."""
    current = current_job()
    text = f"{word} {current.id} {current.attempt} {current.tenant} {time.monotonic_ns()} {os.getpid()}\n"
    file = os.open(os.environ["JOBOPS_TEST_MARKS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, text.encode())
    os.close(file)


@job(name="chaos.work", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=5, **PROMISES)
def work(seconds: float) -> None:
    line("start")
    time.sleep(seconds)
    line("end")


@job(name="chaos.endure", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=15, **PROMISES)
def endure(seconds: float) -> None:
    """Lives on renewed leases."""
    line("start")
    time.sleep(seconds)
    line("end")


@job(name="chaos.stumble", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=5, **PROMISES)
def stumble() -> None:
    """Fails at first."""
    line("start")
    if current_job().attempt == 1:
        line("error")
        raise ValueError("once")
    line("end")


@job(name="chaos.fail", timeout="20s", backoff=Backoff.fixed("100ms"), max_attempts=3, **PROMISES)
def fail() -> None:
    """Fails always."""
    line("start")
    line("error")
    raise ValueError("always")


@job(name="chaos.crash", timeout="20s", backoff=Backoff.fixed("100ms"), max_attempts=2, **PROMISES)
def crash() -> None:
    """Kills its own process, always."""
    line("start")
    os.kill(os.getpid(), signal.SIGKILL)
