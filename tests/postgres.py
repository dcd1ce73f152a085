"""A temporary PostgreSQL cluster from the system's own binaries: unix socket only, gone after the run.

`python -m tests.postgres COMMAND …` runs a command with TEST_DATABASE_URL naming such a cluster. Where PostgreSQL is
missing it says so in one line and runs nothing, which is a failure only where everything must run.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests import environment, tools

START_TIMEOUT_S = 60.0
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def binaries() -> Path | None:
    """The folder with initdb and postgres (the newest that is installed), or None."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(versions, key=lambda folder: float(folder.parent.name), default=None)


@dataclass(slots=True)
class Cluster:
    """A running cluster. `url` is a DATABASE_URL; who starts it must stop it."""

    home: Path
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"postgres://jobops@{quote(str(self.home), safe='')}/postgres"

    @classmethod
    def start(cls) -> Cluster:
        """Make and start a cluster. Raises RuntimeError when PostgreSQL is missing or does not come up."""
        folder = binaries()
        if folder is None:
            raise RuntimeError("PostgreSQL's initdb is neither on PATH nor under /usr/lib/postgresql")
        home = Path(tempfile.mkdtemp(prefix="jobops-pg-"))
        data = home / "data"
        user = _user()
        if os.getuid() == 0:
            os.chown(home, user.pw_uid, user.pw_gid)
        options: dict[str, Any] = {
            "cwd": home,
            "env": {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            "preexec_fn": _become(user),
        }
        made = subprocess.run(
            [folder / "initdb", "-D", data, "-U", "jobops", "-A", "trust", "-E", "UTF8", "--no-sync"],
            capture_output=True,
            text=True,
            check=False,
            **options,
        )
        if made.returncode:
            shutil.rmtree(home, ignore_errors=True)
            raise RuntimeError(f"initdb failed: {made.stderr.strip()}")
        settings = {"listen_addresses": "", "unix_socket_directories": str(home), "max_connections": "200"}
        # It need not outlive a power cut.
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(
                [
                    folder / "postgres",
                    "-D",
                    data,
                    *(part for item in settings.items() for part in ("-c", "=".join(item))),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **options,
            )
        cluster = cls(home, process)
        cluster._wait_until_ready(folder)
        return cluster

    def stop(self) -> None:
        """Stop it and remove its files."""
        self.process.send_signal(signal.SIGINT)  # a "fast" shutdown: open sessions are ended
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def _wait_until_ready(self, folder: Path) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        ask = [folder / "pg_isready", "-q", "-h", str(self.home), "-U", "jobops"]
        while subprocess.run(ask, check=False, capture_output=True).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                log = (self.home / "log").read_text(errors="replace")
                self.stop()
                raise RuntimeError(f"PostgreSQL did not start: {log[-1000:]}")
            time.sleep(0.1)


def _user() -> pwd.struct_passwd:
    """Who runs the server: PostgreSQL refuses root."""
    if os.getuid():
        return pwd.getpwuid(os.getuid())
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _become(user: pwd.struct_passwd) -> Callable[[], None]:
    def become() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        if _LIBC:
            _LIBC.prctl(1, signal.SIGINT, 0, 0, 0)  # PR_SET_PDEATHSIG: end with the test run, however it ends

    return become


def main(command: list[str]) -> int:
    """Run `command` on a cluster of its own and return its exit code."""
    if binaries() is None:
        print("left out: the tests on PostgreSQL, because PostgreSQL is not installed (SQLite's ran)", flush=True)
        return int(tools.everything_must_run())
    cluster = Cluster.start()
    try:
        variables = {**os.environ, environment.DATABASE_VARIABLE: cluster.url}
        code = subprocess.run(command, env=variables, check=False).returncode
    finally:
        cluster.stop()
    # A selection without a single test of the database is no failure: it has passed on SQLite.
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
