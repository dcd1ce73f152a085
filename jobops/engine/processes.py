"""Child processes, looked at and killed without ever hitting a stranger that got their pid."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from pathlib import Path

LINUX = sys.platform == "linux"


def open_pidfd(pid: int) -> int | None:
    """A descriptor that stands for this very process, or None where the system has none (or it is gone)."""
    if not LINUX:
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def is_readable(fd: int, seconds: float) -> bool:
    """Waits until there is something to read, or the end, at most so long. A pidfd is readable once its process ended.
    Not `select`, which knows no descriptors above 1023."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0.0, seconds) * 1000))


def kill_group(pid: int, pidfd: int | None = None) -> bool:
    """SIGKILL to a slot and to the process group it leads, so that what its job started goes too.

    The caller vouches that ``pid`` is not reaped yet, or passes a pidfd, which tells. Answers
    whether there was anything left to kill.
    """
    if pidfd is not None:
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return False
    found = False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
        found = True
    if pidfd is None and not found:
        # It had not become the leader of its group yet.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
            found = True
    return found or pidfd is not None


def has_ended(pid: int) -> bool:
    """Whether a child has ended, without reaping it: its pid stays taken. Raises nothing."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def reap(pid: int) -> int | None:
    """Frees an ended child's pid; its exit code, below 0 for a signal, None if somebody else reaped it."""
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return None
    return os.waitstatus_to_exitcode(status)


def describe_exit(code: int | None) -> str:
    """How a process ended, in words: "killed by SIGSEGV", "exit status 1"."""
    if code is None:
        return "gone"
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def is_alive(pid: int) -> bool:
    """Whether a process of this pid runs on this host (it may be a stranger's); one that is dead and not reaped does
    not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not is_zombie(pid)


def is_zombie(pid: int) -> bool:
    """Whether the process has ended and waits for being reaped; False where the system does not tell."""
    return _state(pid) == b"Z"


def is_stopped(pid: int) -> bool:
    """Whether the process is stopped, by a signal or a debugger; False where the system does not tell."""
    return _state(pid) in (b"T", b"t")


def _state(pid: int) -> bytes:
    try:
        # It follows the name, which is in parentheses and may hold any character.
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b""


def resident_mib(pid: int) -> float | None:
    """Resident memory of a process in MiB, or None when the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / (1024 * 1024)
