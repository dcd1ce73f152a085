"""Child processes that live and die with this one: started, watched, restarted, stopped in order.

Each child leads a session of its own, so that Ctrl-C reaches the parent alone and the parent stops them in
order; and each asks the kernel to be told when the parent dies, so that even ``kill -9`` leaves nobody behind.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Runs in the child before its program replaces it: lower the priority, and on Linux ask for a signal on the parent's
# death (PR_SET_PDEATHSIG = 1; it outlives the exec). If the parent died before it was set, stop.
_PRELUDE = """
import os, sys
parent, death_signal, niceness = map(int, sys.argv[1:4])
os.nice(niceness)
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, death_signal, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
os.execvp(sys.argv[4], sys.argv[4:])
"""

STEADY_SECONDS = 10.0
"""A child that lived so long is restarted at once; one that died sooner waits, twice as long each time."""
LONGEST_WAIT_SECONDS = 30.0
LOG_LIMIT_BYTES = 4 * 1024 * 1024

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Program:
    """What to run. ``rank``: children of a higher rank stop first. ``death_signal`` reaches it when the parent dies.

    ``patience`` is how long, in seconds, it may take to stop before it is killed; ``niceness`` is added to its
    priority; ``fds`` are the file descriptors it inherits.
    """

    name: str
    argv: tuple[str, ...]
    rank: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    fds: tuple[int, ...] = ()
    niceness: int = 0
    patience: float = 5.0
    death_signal: signal.Signals = signal.SIGKILL


@dataclass(slots=True)
class _Child:
    program: Program
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    due: float = 0.0
    quick_deaths: int = 0
    log_from: int = 0  # where in its log this run begins


class Processes:
    """A set of children under supervision. Use it from the main thread only: the kernel's parent-death signal
    fires on the death of the *thread* that forked."""

    def __init__(self, logs: Path, say: Say, *, env: Mapping[str, str] | None = None) -> None:
        """Children write to ``logs``/<name>.log; ``say`` gets a line for each event; ``env`` replaces ours."""
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._say = say
        self._env = dict(os.environ if env is None else env)
        self._children: dict[str, _Child] = {}

    def start(self, program: Program) -> None:
        """Start a program and keep it running until `stop`."""
        child = _Child(program)
        self._children[program.name] = child
        self.log(program.name).write_bytes(b"")
        self._spawn(child)

    def pid(self, name: str) -> int | None:
        """The pid of a running child, or None while it is down."""
        process = self._children[name].process
        return process.pid if process is not None else None

    def log(self, name: str) -> Path:
        """The file that a child writes to."""
        return self._logs / f"{name}.log"

    def last_line(self, name: str) -> str:
        """The last line that a child wrote since it was started last, or nothing."""
        try:
            with self.log(name).open("rb") as log:
                log.seek(self._children[name].log_from)
                lines = log.read().decode(errors="replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def look(self) -> list[str]:
        """One round of supervision: report the dead, restart what is due, bound the logs. Answers who died."""
        now = time.monotonic()
        died = [name for name, child in self._children.items() if self._reap(child, now)]
        for child in self._children.values():
            if child.process is None and child.due <= now:
                self._spawn(child)
                self._say(f"{child.program.name} is running again (pid {self.pid(child.program.name)})")
        self._bound_logs()
        return died

    def stop(self, *, hurry: Callable[[], bool] = lambda: False) -> bool:
        """Stop all, highest rank first. ``hurry`` is asked meanwhile; once true, what still runs is killed.

        Answers whether every child stopped by itself in its time.
        """
        clean = True
        for rank in sorted({child.program.rank for child in self._children.values()}, reverse=True):
            clean &= self._stop([c for c in self._children.values() if c.program.rank == rank], hurry)
        self._children.clear()
        return clean

    def _spawn(self, child: _Child) -> None:
        program = child.program
        prelude = (os.getpid(), program.death_signal.value, program.niceness)
        with self.log(program.name).open("ab") as log:
            child.log_from = log.tell()
            child.process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PRELUDE, *map(str, prelude), *program.argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self._env, **program.env},
                pass_fds=program.fds,
                start_new_session=True,
            )
        child.started = time.monotonic()

    def _reap(self, child: _Child, now: float) -> bool:
        if child.process is None or child.process.poll() is None:
            return False
        code = child.process.returncode
        _sweep(child.process.pid)
        child.process = None
        child.quick_deaths = child.quick_deaths + 1 if now - child.started < STEADY_SECONDS else 0
        wait = min(0.5 * 2.0**child.quick_deaths, LONGEST_WAIT_SECONDS) if child.quick_deaths else 0.0
        child.due = now + wait
        self._say(f"{child.program.name} {ending(code)}; {self._plan(child.program.name, wait)}")
        return True

    def _plan(self, name: str, wait: float) -> str:
        last = self.last_line(name)
        when = f"starting it again in {wait:g} s" if wait else "starting it again"
        return f"{when}; its log ends: {last}" if last else when

    def _stop(self, children: Iterable[_Child], hurry: Callable[[], bool]) -> bool:
        running: list[tuple[Program, subprocess.Popen[bytes]]] = []
        for child in children:
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(signal.SIGTERM)
                running.append((child.program, child.process))
            elif child.process is not None:
                _sweep(child.process.pid)
        asked = time.monotonic()
        clean = True
        while running:
            for program, process in list(running):
                if process.poll() is None and time.monotonic() - asked < program.patience and not hurry():
                    continue
                if process.poll() is None:
                    clean = False
                    self._say(f"{program.name} did not stop in time and was killed")
                _sweep(process.pid)
                process.wait()
                running.remove((program, process))
            time.sleep(0.02)
        return clean

    def _bound_logs(self) -> None:
        # Children append (O_APPEND), so a log can be cut under them.
        for name, child in self._children.items():
            path = self.log(name)
            if path.exists() and path.stat().st_size > LOG_LIMIT_BYTES:
                os.truncate(path, 0)
                child.log_from = 0


def _sweep(pid: int) -> None:
    """Kill what is left of a child's process group (the child led it, so its pid is the group's id)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the latter: macOS, for a group of zombies
        os.killpg(pid, signal.SIGKILL)


def ending(code: int) -> str:
    """How a process ended, from its exit code as `subprocess` gives it."""
    if code >= 0:
        return f"stopped by itself (exit {code})"
    try:
        return f"was killed ({signal.Signals(-code).name})"
    except ValueError:
        return f"was killed (signal {-code})"
