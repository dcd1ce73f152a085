"""Jobs of the worker's tests: plain functions, run without any contract, that leave marks in a file."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobops.engine import lua_source
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.timeouts import JobTimeout, SoftTimeout

# Unlike ctypes.CDLL this keeps the interpreter lock while the C function runs.
LIBC_WITH_LOCK = ctypes.PyDLL(None)


def mark(path: str, word: str, job: ClaimedJob) -> None:
    """One line, appended in one write."""
    line = json.dumps([word, job.id, job.attempt, job.tenant, time.monotonic(), os.getpid()]) + "\n"
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, line.encode())
    os.close(file)


def nothing(job: ClaimedJob) -> None:
    pass


def sleep(job: ClaimedJob, seconds: float) -> None:
    time.sleep(seconds)


def sleep_at_first(job: ClaimedJob, seconds: float) -> None:
    """Takes long in its first attempt only."""
    time.sleep(seconds if job.attempt == 1 else 0)


def tick(job: ClaimedJob, seconds: float, ticks: str) -> None:
    """Leaves a mark every few milliseconds, as long as it lives."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        mark(ticks, "tick", job)
        time.sleep(0.01)


def fail(job: ClaimedJob, times: int = 10**9) -> None:
    if job.attempt <= times:
        raise ValueError(f"attempt {job.attempt} fails")


def postpone(job: ClaimedJob, times: int, calls: str) -> Outcome | None:
    """Asks to come again, so many times; ``calls`` is a file that counts them."""
    with Path(calls).open("a+") as file:
        file.write(".")
        file.flush()
        return Outcome.postponed(50, "Busy", "not now") if file.tell() <= times else None


def discard(job: ClaimedJob) -> Outcome:
    return Outcome.discarded("Gone", "its row is gone")


def poison(job: ClaimedJob) -> Outcome:
    return Outcome.failed("poison", "ValueError", "never")


def swallow_everything(job: ClaimedJob, seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(BaseException):
            time.sleep(seconds)
    return "ok"


def swallow_exceptions(job: ClaimedJob, seconds: float) -> str:
    with contextlib.suppress(Exception):
        time.sleep(seconds)
    return "ok"


def hold_lock(job: ClaimedJob, seconds: float) -> None:
    """Sleeps in C with the interpreter lock held and all signals blocked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    for _ in range(int(seconds * 100)):
        LIBC_WITH_LOCK.usleep(10_000)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())


def spin_in_c(job: ClaimedJob, seconds: float) -> None:
    """Sleeps in one C call with the interpreter lock held: nothing else of this process runs meanwhile."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    LIBC_WITH_LOCK.sleep(int(seconds))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())


def kill_itself(job: ClaimedJob, attempts: int = 10**9) -> None:
    if job.attempt <= attempts:
        os.kill(os.getpid(), signal.SIGKILL)


def exit_hard(job: ClaimedJob) -> None:
    os._exit(1)


def exit_with(job: ClaimedJob, code: int) -> None:
    os._exit(code)


def large_result(job: ClaimedJob, size: int) -> str:
    return "x" * size


def lose_the_files(job: ClaimedJob) -> None:
    """As if another release, or none, were installed where this one was."""

    def gone(package: str) -> Path:
        raise FileNotFoundError(package)

    lua_source.files = gone  # type: ignore[attr-defined]


def starve(job: ClaimedJob) -> None:
    """May open no more descriptors, and loses its connections."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    for thing in gc.get_objects():
        if isinstance(thing, socket.socket):
            with contextlib.suppress(OSError):
                thing.shutdown(socket.SHUT_RDWR)


def lower_limits(job: ClaimedJob) -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files - 1, files - 1))


def spoil(job: ClaimedJob) -> None:
    """Leaves behind whatever one job can leave to the next."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.setrecursionlimit(150)
    os.umask(0o777)
    os.chdir("/")
    threading.Timer(0.3, signal.setitimer, (signal.ITIMER_REAL, 0.1, 0.1)).start()


def look_around(job: ClaimedJob, seconds: float) -> list[Any]:
    """What a job finds, also after it has slept."""
    time.sleep(seconds)
    umask = os.umask(0)
    os.umask(umask)
    child = subprocess.run(["false"], check=False).returncode
    return [
        os.getpid(),
        len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        sys.getrecursionlimit(),
        umask,
        child,
        str(Path.cwd()),
    ]


def segfault(job: ClaimedJob) -> None:
    ctypes.string_at(0)


def raise_in_thread(job: ClaimedJob) -> None:
    thread = threading.Thread(target=lambda: 1 / 0)
    threading.excepthook = lambda _: None
    thread.start()
    thread.join()
    raise RuntimeError("the thread failed")


def start_child(job: ClaimedJob, pid_file: str, seconds: float) -> None:
    """Starts a program that would go on for long, and waits."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path(pid_file).write_text(str(child.pid))
    time.sleep(seconds)


def fork_and_return(job: ClaimedJob) -> None:
    """Forgets that the child comes back here as well."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)


def mixed_fates(job: ClaimedJob) -> None:
    """One error, one lost worker, one time-out."""
    if job.attempt == 1:
        raise ValueError("first")
    if job.attempt == 2:
        os._exit(9)
    time.sleep(60)


def eat_memory(job: ClaimedJob, mib: int) -> None:
    KEPT.append(bytearray(os.urandom(1024) * 1024 * mib))


KEPT: list[bytearray] = []
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: thing for name, thing in list(globals().items()) if callable(thing) and thing.__module__ == __name__
}


class FunctionRunner:
    """The simplest runner. The payload is a JSON object of arguments; `marks` names the file for its marks."""

    def __init__(self, retry_ms: int = 0) -> None:
        self._retry_ms = retry_ms

    def run(self, job: ClaimedJob, alarm: SoftTimeout) -> Outcome:
        arguments = json.loads(job.data)
        marks = arguments.pop("marks", None)
        retry_ms = arguments.pop("retry_ms", self._retry_ms)
        if marks:
            mark(marks, "start", job)
        try:
            with alarm(job.timeout_ms / 1000):
                result = FUNCTIONS[job.job_type](job, **arguments)
        except JobTimeout as error:
            return Outcome.failed("timeout", "JobTimeout", str(error), delay_ms=retry_ms)
        except Exception as error:  # noqa: BLE001
            if marks:
                mark(marks, "error", job)
            return Outcome.failed("error", type(error).__name__, str(error), delay_ms=retry_ms)
        if alarm.fired:
            return Outcome.failed("timeout", "JobTimeout", "swallowed", delay_ms=retry_ms)
        if marks:
            mark(marks, "end", job)
        if isinstance(result, Outcome):
            return result
        return Outcome.succeeded(json.dumps(result).encode())
