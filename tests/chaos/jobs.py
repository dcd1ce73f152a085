"""Jobs of the chaos test: each leaves a line for whatever it does, in one append each."""

from __future__ import annotations

import os
import signal
import time

from jobops import Backoff, RetryLater, current_job, job

PROMISES = {"owner": "tests", "drain_sla": "1h", "idempotent": "its lines say which attempt wrote them"}
STEPS = 8
POSTPONEMENTS = 2
NARROW = 3
"""So many of `narrow` may run at once, whosesoever they are."""


def line(word: str) -> None:
    """word, id, attempt, tenant, instant (the monotonic clock, one for all processes), pid."""
    current = current_job()
    text = f"{word} {current.id} {current.attempt} {current.tenant} {time.monotonic_ns()} {os.getpid()}\n"
    file = os.open(os.environ["JOBOPS_TEST_MARKS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, text.encode())
    os.close(file)


@job(name="chaos.work", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=8, **PROMISES)
def work(seconds: float) -> None:
    line("start")
    time.sleep(seconds)
    line("end")


@job(name="chaos.endure", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=30, **PROMISES)
def endure(seconds: float) -> None:
    """Lives on renewed leases, and shows all the time that it lives. A sleep of its process makes it no shorter."""
    line("start")
    for _ in range(int(seconds / 0.05)):
        time.sleep(0.05)
        line("tick")
    line("end")


@job(
    name="chaos.narrow",
    timeout="20s",
    backoff=Backoff.fixed("200ms"),
    max_attempts=15,
    resource="narrow",
    concurrency=NARROW,
    **PROMISES,
)
def narrow(seconds: float) -> None:
    """Needs what only a few may use at once."""
    line("start")
    time.sleep(seconds)
    line("end")


@job(name="chaos.steps", timeout="20s", backoff=Backoff.fixed("100ms"), max_attempts=15, **PROMISES)
def steps(seconds: float) -> None:
    """Goes on from where it was."""
    line("start")
    done = (current_job().state or {"done": 0})["done"]
    for number in range(done + 1, STEPS + 1):
        time.sleep(seconds)
        line(f"step:{number}")
        current_job().checkpoint({"done": number})
        line(f"saved:{number}")
    line("end")


@job(name="chaos.stumble", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=8, **PROMISES)
def stumble() -> None:
    """Fails at first."""
    line("start")
    if current_job().attempt == 1:
        line("error")
        raise ValueError("once")
    line("end")


@job(name="chaos.later", timeout="20s", backoff=Backoff.fixed("200ms"), max_attempts=15, **PROMISES)
def later() -> None:
    """Asks to come again, a few times."""
    line("start")
    asked = (current_job().state or {"asked": 0})["asked"]
    if asked < POSTPONEMENTS:
        current_job().checkpoint({"asked": asked + 1})
        line("later")
        raise RetryLater("not yet", after="100ms")
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
