"""Starts the demo (or the stack of `make dev`), keeps it running, and stops it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from django.core.management import CommandError, call_command
from django.db import connections

from jobops.demo.places import Places
from jobops.demo.processes import Processes, Program, ending
from jobops.embedded import EmbeddedRedis, EmbeddedRedisError

LOOPBACK = "127.0.0.1"
UP_WITHIN_SECONDS = 120.0
DRAIN_SECONDS = 8
LOOK_EVERY_SECONDS = 0.1


class Signals:
    """Whether somebody asked us to stop, and how often. Takes SIGINT, SIGTERM and SIGHUP while entered."""

    _NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.asked = 0

    def __enter__(self) -> Signals:
        self._before = [signal.signal(number, self._note) for number in self._NUMBERS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(self._NUMBERS, self._before, strict=True):
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked += 1


def listen(port: int = 0, *, option: str = "") -> socket.socket:
    """A listening socket on loopback. `CommandError` in one line if the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise CommandError(f"port {port} cannot be used ({error.strerror}): choose another with {option}") from None
    return listener


def hold(folder: Path, what: str) -> int:
    """Lock a folder for this process's life; answers the descriptor. `CommandError` if somebody has it."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "running.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise CommandError(f"{what} already runs in {folder}: stop that one first") from None
    return descriptor


def forget_dead_demo(home: Path) -> None:
    """Commands join a demo that runs; one that was killed could not say that it does no longer."""
    if home.is_dir():
        with contextlib.suppress(CommandError):
            held = hold(home, "the demo")
            Places(home).forget_services()
            os.close(held)


def prepare_database(*, prepare: Callable[[], None] = lambda: None) -> None:
    """Bring the tables up to date, then ``prepare``; leaves no connection open for children to inherit."""
    call_command("migrate", interactive=False, verbosity=0)
    prepare()
    connections.close_all()


def manage(*arguments: str) -> tuple[str, ...]:
    """The command line of another command of the project that this process was started by."""
    return (sys.executable, "-u", str(Path(sys.argv[0]).resolve()), *arguments)


def worker_and_scheduler(processes: int, *, niceness: int = 0) -> tuple[Program, Program]:
    """What runs jobs. They stop in good order when this process dies."""
    worker = manage("worker", "--processes", str(processes), "--drain-timeout", str(DRAIN_SECONDS))
    return (
        Program("worker", worker, rank=2, niceness=niceness, patience=DRAIN_SECONDS + 6, death_signal=signal.SIGTERM),
        Program("scheduler", manage("scheduler"), rank=2, death_signal=signal.SIGTERM),
    )


class Stack:
    """Programs, and an embedded Redis unless there is one of your own, run until a signal comes."""

    def __init__(
        self, redis: EmbeddedRedis | None, logs: Path, say: Callable[[str], None], environment: dict[str, str]
    ):
        self._redis = redis
        self._say = say
        self._processes = Processes(logs, say, env=environment)
        self.logs = logs

    def run(
        self, programs: Callable[[], Iterable[Program]], url: str, up: Callable[[], None], signals: Signals
    ) -> None:
        """Start Redis, then what ``programs`` gives; call ``up`` when ``url`` answers; watch; stop on a signal.

        Raises `CommandError` when it does not come up. Whatever happens, nothing is left running.
        """
        with ExitStack() as stack:
            if self._redis is not None:
                stack.callback(self._redis.stop)
                try:
                    self._redis.start()
                except EmbeddedRedisError as error:
                    raise CommandError(str(error)) from None
            stack.callback(self._stop, signals)
            for program in programs():
                self._processes.start(program)
            self._wait_until_up(url, signals)
            if not signals.asked:
                up()
            while not signals.asked:
                self._look()
                time.sleep(LOOK_EVERY_SECONDS)
            self._say("stopping: running jobs may finish")

    def _look(self) -> None:
        if self._redis is not None and self._redis.pid is None:
            self._say(f"redis {ending(self._redis.exit_code or 0)}; starting it again on its append-only file")
            try:
                self._redis.start()
                self._say(f"redis is running again (pid {self._redis.pid})")
            except EmbeddedRedisError as error:
                self._say(f"{error}; trying again")
                time.sleep(1)
        self._processes.look()

    def _wait_until_up(self, url: str, signals: Signals) -> None:
        deadline = time.monotonic() + UP_WITHIN_SECONDS
        while not signals.asked and not answers(url):
            if time.monotonic() > deadline:
                last = self._processes.last_line("web")
                raise CommandError(f"the web server does not answer ({self.logs / 'web.log'} ends: {last})")
            self._look()
            time.sleep(LOOK_EVERY_SECONDS)

    def _stop(self, signals: Signals) -> None:
        before = signals.asked
        self._processes.stop(hurry=lambda: signals.asked > max(before, 1))


def answers(url: str) -> bool:
    """Whether an HTTP GET of ``url`` is answered with success."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2):
            return True
    except (OSError, urllib.error.URLError):
        return False


def run_dev(home: Path, port: int, processes: int, *, say: Callable[[str], None]) -> None:
    """Run what `make dev` promises in ``home`` until a signal comes. `CommandError` if it cannot start."""
    url = f"http://{LOOPBACK}:{port}/"

    def programs() -> Iterable[Program]:
        prepare_database()
        yield Program("web", manage("runserver", f"{LOOPBACK}:{port}"), rank=2)
        yield from worker_and_scheduler(processes)

    def up() -> None:
        say(f"up at {url}; logs are in {home / 'logs'}; make an account with `manage.py createsuperuser`")

    with Signals() as signals:
        listen(port, option="PORT=… (or --port)").close()
        held = hold(home, "`make dev`")
        forget_dead_demo(home / "demo")
        try:
            redis = None if os.environ.get("JOBOPS_REDIS_URL") else EmbeddedRedis(home / "redis")
            Stack(redis, home / "logs", say, dict(os.environ)).run(programs, f"{url}healthz", up, signals)
        finally:
            os.close(held)
    say("stopped")
