"""Supervision of the demo's children, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobops.demo.processes import LOG_LIMIT_BYTES, Processes, Program
from tests.tools import wait_for

SLEEPER = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(300)")


class Stage:
    """Children under supervision, and what was said about them."""

    def __init__(self, folder: Path) -> None:
        self.said: list[str] = []
        self.processes = Processes(folder, self.said.append)

    def run_until(self, text: str) -> str:
        def found() -> str:
            self.processes.look()
            return next((line for line in self.said if text in line), "")

        return wait_for(found, seconds=20, what=f"a line with {text!r}")


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.processes.stop(hurry=lambda: True)


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_child_is_restarted_and_said_so(stage: Stage) -> None:
    stage.processes.start(Program("sleeper", SLEEPER))
    first = stage.processes.pid("sleeper")
    assert first is not None
    wait_for(lambda: stage.processes.last_line("sleeper") == "up")
    os.kill(first, signal.SIGKILL)
    line = stage.run_until("sleeper was killed (SIGKILL)")
    assert "its log ends: up" in line
    stage.run_until("sleeper is running again")
    assert stage.processes.pid("sleeper") not in (None, first)


def test_a_child_that_dies_at_once_is_not_restarted_in_a_hot_loop(stage: Stage) -> None:
    stage.processes.start(Program("broken", (sys.executable, "-c", "raise SystemExit('no such table')")))
    assert "starting it again in 1 s; its log ends: no such table" in stage.run_until(
        "broken stopped by itself (exit 1)"
    )
    stage.run_until("starting it again in 2 s")


def test_of_a_child_that_was_started_again_only_what_it_wrote_since_is_told(stage: Stage, tmp_path: Path) -> None:
    once = f"""
        import pathlib, time
        note = pathlib.Path({str(tmp_path / "note")!r})
        if not note.exists():
            print("old news", flush=True)
        note.touch()
        time.sleep(300)
    """
    stage.processes.start(Program("once", (sys.executable, "-c", textwrap.dedent(once))))
    for _ in range(2):
        wait_for((tmp_path / "note").exists)
        pid = stage.processes.pid("once")
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        stage.run_until("was killed")
        stage.run_until("is running again")
        stage.said, before = [], stage.said
        stage.processes._say = stage.said.append
    assert not any("old news" in line for line in before)
    assert "old news" in stage.processes.log("once").read_text()


def test_stop_leaves_neither_the_child_nor_its_children(stage: Stage, tmp_path: Path) -> None:
    note = tmp_path / "grandchild"
    parent = f"""
        import pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        pathlib.Path({str(note)!r}).write_text(str(child.pid))
        time.sleep(300)
    """
    stage.processes.start(Program("parent", (sys.executable, "-c", textwrap.dedent(parent))))
    grandchild = int(wait_for(lambda: note.exists() and note.read_text(), what="the grandchild"))
    child = stage.processes.pid("parent")
    assert child is not None
    assert stage.processes.stop()
    wait_for(lambda: not alive(child) and not alive(grandchild), what="the end of both")


def test_stop_goes_by_rank_and_kills_who_takes_too_long(stage: Stage, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    polite = f"""
        import signal, sys, time
        def stop(number, frame):
            open({str(journal)!r}, "a").write(sys.argv[1] + "\\n")
            sys.exit(0)
        signal.signal(signal.SIGTERM, stop)
        print("up", flush=True)
        time.sleep(300)
    """
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(300)"
    )
    for name, rank in (("low", 0), ("high", 2), ("middle", 1)):
        stage.processes.start(Program(name, (sys.executable, "-c", textwrap.dedent(polite), name), rank=rank))
    stage.processes.start(Program("deaf", (sys.executable, "-c", deaf), rank=1, patience=0.3))
    for name in ("low", "high", "middle", "deaf"):
        wait_for(lambda name=name: stage.processes.last_line(name) == "up")
    assert not stage.processes.stop()
    assert journal.read_text().split() == ["high", "middle", "low"]
    assert stage.said == ["deaf did not stop in time and was killed"]


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel for a signal on the parent's death")
def test_kill_minus_nine_of_the_parent_leaves_nobody(tmp_path: Path) -> None:
    parent = f"""
        import sys, time
        from pathlib import Path
        from jobops.demo.processes import Processes, Program
        processes = Processes(Path({str(tmp_path)!r}), print)
        processes.start(Program("sleeper", {SLEEPER!r}))
        print(processes.pid("sleeper"), flush=True)
        time.sleep(300)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(parent)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        wait_for(lambda: (tmp_path / "sleeper.log").read_text() == "up\n")
        process.kill()
    wait_for(lambda: not alive(child), what="the child's end")


def test_a_child_inherits_only_the_descriptors_it_is_given_and_gives_way(stage: Stage, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    say = f"import os; os.write({writer}, str(os.nice(0)).encode()); import time; time.sleep(300)"
    stage.processes.start(Program("nice", (sys.executable, "-c", say), fds=(writer,), niceness=3))
    os.close(writer)
    assert int(os.read(reader, 10)) == os.nice(0) + 3
    os.close(reader)


def test_a_long_log_is_cut_while_it_is_written(stage: Stage) -> None:
    chatter = f"""
        import os, time
        print("x" * {LOG_LIMIT_BYTES + 1}, flush=True)
        while os.fstat(1).st_size:
            time.sleep(0.01)
        print("still here", flush=True)
        time.sleep(300)
    """
    stage.processes.start(Program("chatter", (sys.executable, "-c", textwrap.dedent(chatter))))
    log = stage.processes.log("chatter")
    wait_for(lambda: log.stat().st_size > LOG_LIMIT_BYTES)
    stage.processes.look()
    wait_for(lambda: log.read_text() == "still here\n", what="a short log")
