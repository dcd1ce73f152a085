"""The peers' sides: each in an environment of its own under ``var/bench-peers``, made here and never in our lock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SIDES = ROOT / "bench" / "peers"
PLACE = ROOT / "var" / "bench-peers"
INSTALL_S = 600
ENQUEUE_S = 120


@dataclass(frozen=True)
class Peer:
    """``rate``: jobs a second that it does about, on one worker; only to choose how many jobs a round takes."""

    name: str
    title: str
    rate: int


PEERS = (
    Peer("rq", "rq, a fork per job", 200),
    Peer("celery", "celery, prefork", 1500),
    Peer("taskiq", "taskiq", 2500),
    Peer("dramatiq", "dramatiq, 8 threads", 2500),
    Peer("huey", "huey, processes", 2500),
)


def python_of(peer: Peer) -> Path:
    """The interpreter of the peer's environment, which is made when it is missing or its requirements changed.

    Raises CalledProcessError when that fails, TimeoutExpired when it takes too long.
    """
    home, wanted = PLACE / peer.name, SIDES / peer.name / "requirements.txt"
    python, stamp = home / "bin" / "python", home / "installed"
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"making {home.relative_to(ROOT)} from {wanted.relative_to(ROOT)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True, timeout=INSTALL_S)
        pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--requirement", wanted]
        subprocess.run(pip, check=True, timeout=INSTALL_S)
        stamp.write_text(digest)
    return python


def version_of(peer: Peer) -> str:
    """Its pinned version."""
    pins = (line.split("==") for line in (SIDES / peer.name / "requirements.txt").read_text().splitlines())
    return next(version for name, version in pins if name == peer.name)


def enqueue(python: Path, peer: Peer, url: str, count: int) -> float:
    """Seconds that the peer took for so many jobs, one by one."""
    command = [python, SIDES / peer.name / "side.py", "enqueue", url, str(count)]
    ended = subprocess.run(
        command, check=True, timeout=ENQUEUE_S, stdout=subprocess.PIPE, text=True, env=surroundings()
    )
    return float(ended.stdout.split()[-1])


def start(python: Path, peer: Peer, url: str, workers: int) -> subprocess.Popen[bytes]:
    """Its workers, in a session of their own."""
    command = [python, SIDES / peer.name / "side.py", "work", url, str(workers)]
    return subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=surroundings()
    )


def surroundings() -> dict[str, str]:
    """The environment in which a peer's side finds ``rig``."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "bench")}


def members(session: int) -> list[tuple[int, float]]:
    """Pid and processor seconds, those of its dead children included, of each process of a session. Linux only."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[3]) == session:
            found.append((int(entry.parent.name), sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")))
    return found


def processor_s(session: int) -> float:
    """Processor seconds that a session has used until now."""
    return sum(seconds for _, seconds in members(session))


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a session that was started here, whatever groups its processes have made."""
    for _ in range(50):
        pids = [pid for pid, _ in members(process.pid)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.poll()
        if not [pid for pid, _ in members(process.pid) if pid != process.pid]:
            break
        time.sleep(0.02)
    process.wait()
