"""Killing and burying: never a stranger that got the pid later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from jobops.engine import fleet
from jobops.engine.board import Board
from jobops.engine.fleet import Child, Fleet
from jobops.engine.processes import (
    describe_exit,
    has_ended,
    is_alive,
    is_readable,
    kill_group,
    open_pidfd,
    reap,
    resident_mib,
)
from jobops.engine.warden import Warden
from tests.tools import wait_for

SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]


def sleeper() -> int:
    """A child that leads a group of its own; to be reaped by the test."""
    return os.spawnv(os.P_NOWAIT, "/bin/sh", ["sh", "-c", "exec setsid sleep 60"])


def test_an_old_descriptor_kills_nobody_else() -> None:
    """As if the dead one's pid had been given to another process: the descriptor still means the dead one."""
    dead, living = sleeper(), sleeper()
    pidfd = open_pidfd(dead)
    if pidfd is None:
        pytest.skip("this system has no pidfd")
    os.kill(dead, signal.SIGKILL)
    assert is_readable(pidfd, 5)
    reap(dead)
    assert kill_group(living, pidfd) is False
    assert is_alive(living)
    assert not has_ended(living)
    os.kill(living, signal.SIGKILL)
    assert describe_exit(reap(living)) == "killed by SIGKILL"


def test_a_group_goes_as_a_whole() -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); print(c.pid, flush=True); c.wait()",
        ],
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert kill_group(parent.pid)
    assert parent.wait(5) == -signal.SIGKILL
    wait_for(lambda: not is_alive(child), what="the end of the child")
    parent.stdout.close()


def test_a_place_is_wiped_before_its_pid_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a pid from the board must be able to trust that it is still that process's."""
    board = Board(1)
    pid = os.spawnv(os.P_NOWAIT, "/bin/true", ["true"])
    board.assign(0, pid, 1, "slot")
    seen: list[Any] = []

    def spying_reap(pid: int) -> int | None:
        seen.append((has_ended(pid), board.pid(0)))
        return reap(pid)

    monkeypatch.setattr(fleet, "reap", spying_reap)
    crew = Fleet(board, lambda *_: "slot", lambda *_: None)  # type: ignore[arg-type, return-value]
    crew.children[0] = Child(0, 1, "slot", pid, open_pidfd(pid), os.dup(0), time.monotonic(), time.time(), 0.0)
    (ended,) = wait_for(crew.bury, what="the burial")
    assert ended.code == 0
    assert seen == [(True, (0, 0))]
    assert crew.children == {}


def test_the_warden_takes_no_descriptor_of_a_place_that_changed_hands() -> None:
    class ChangingBoard(Board):
        """The slot's process ends between two looks."""

        looks = 0

        def pid(self, index: int) -> tuple[int, int]:
            self.looks += 1
            return (os.getpid(), 1) if self.looks == 1 else (0, 0)

    warden = Warden(ChangingBoard(1), 0, 0.1, lambda: None, lambda *_: None)  # type: ignore[arg-type, return-value]
    warden._look()
    assert warden._known == {}


def test_memory_of_a_process_is_known_where_the_system_tells() -> None:
    assert (resident_mib(os.getpid()) or 10) > 5
    assert resident_mib(2**30) is None
