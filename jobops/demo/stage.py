"""The demo as a whole: which processes, which servers, what is printed."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from jobops.demo.cast import ACCOUNTS
from jobops.demo.launch import (
    LOOPBACK,
    Signals,
    Stack,
    hold,
    listen,
    prepare_database,
    worker_and_scheduler,
)
from jobops.demo.places import Places, Services
from jobops.demo.processes import Program
from jobops.embedded import EmbeddedRedis

WORKER_NICENESS = 10
"""Jobs give way to whatever else the machine does."""
_SERVICE_VARIABLES = ("DATABASE_URL", "JOBOPS_REDIS_URL")


def environment_of_the_demo(given: Mapping[str, str]) -> dict[str, str]:
    """The environment for the demo's processes: its own folder, never the services that ``given`` configures."""
    kept = {name: value for name, value in given.items() if name not in _SERVICE_VARIABLES}
    return {**kept, "JOBOPS_DEMO": "1"}


def settings_of_the_demo(services: Services, url: str) -> dict[str, str]:
    """What the demo sets, whatever the environment says: its alerts stay on this machine, and replays have a lane of
    their own, so that they wait behind nobody's flood. ``url``: of its pages."""
    return {
        "JOBOPS_LANES": "interactive:4,bulk:1,replays:1",
        "JOBOPS_WORKER_LANES": "interactive,bulk,replays",
        "JOBOPS_BASE_URL": url.rstrip("/"),
        "JOBOPS_ALERT_MAIL_URL": f"smtp://{services.mail_host}:{services.mail_port}",
        "JOBOPS_ALERT_MAIL_FROM": "alerts@jobops.example",
        "JOBOPS_ALERT_ALLOW_PRIVATE_SINK": services.receiver_url,
    }


def run_demo(home: Path, port: int, *, fresh: bool, say: Callable[[str], None]) -> None:
    """Run the demo in ``home`` until SIGINT, SIGTERM or SIGHUP. `CommandError` if it cannot start."""
    places = Places(home)
    with Signals() as signals, listen(port, option="PORT=… (or --port)") as web:
        held = hold(home, "the demo")
        try:
            if fresh:
                forget(places)
            with listen() as receiver, listen() as mail:
                _run(places, signals, say, web=web, receiver=receiver, mail=mail)
        finally:
            places.forget_services()
            os.close(held)
    say("stopped; nothing is left running")


def forget(places: Places) -> None:
    """Delete what earlier runs left, but for the lock that we hold."""
    for path in places.root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "running.lock":
            path.unlink()


def _run(
    places: Places,
    signals: Signals,
    say: Callable[[str], None],
    *,
    web: socket.socket,
    receiver: socket.socket,
    mail: socket.socket,
) -> None:
    port = web.getsockname()[1]
    url = f"http://{LOOPBACK}:{port}/"
    services = Services(f"http://{LOOPBACK}:{receiver.getsockname()[1]}", LOOPBACK, mail.getsockname()[1])
    own = settings_of_the_demo(services, url)
    passwords: dict[str, str] = {}

    def programs() -> Iterable[Program]:
        from jobops.demo.crew import assemble
        from jobops.demo.seed import seed

        def prepare() -> None:
            passwords.update(seed(places))
            assemble(places, services)

        for name in ("tenants", "dlq"):
            logging.getLogger(name).setLevel(logging.WARNING)  # this terminal is for what people need
        prepare_database(prepare=prepare)
        places.write_environment(own)
        places.write_services(services)
        yield Program("web", _gunicorn(web.fileno()), rank=2, fds=(web.fileno(),))
        yield _server("receiver", receiver, "--key-file", str(places.alert_key))
        yield _server("mailbox", mail, "--folder", str(places.mail))
        yield from worker_and_scheduler(2, niceness=WORKER_NICENESS)
        yield Program("traffic", (sys.executable, "-um", "jobops.demo"), rank=3, niceness=WORKER_NICENESS)

    def up() -> None:
        say(welcome(url, passwords))

    environment = environment_of_the_demo(os.environ) | own
    stack = Stack(EmbeddedRedis(places.root / "redis"), places.logs, say, environment)
    stack.run(programs, f"{url}healthz", up, signals)


def welcome(url: str, passwords: Mapping[str, str]) -> str:
    """What the demo prints when it is up."""
    lines = ["", f"  jobops is up at {url}", "", "  user           password       may"]
    lines += [f"  {a.username:<14} {passwords[a.username]:<14} {a.may}" for a in ACCOUNTS]
    lines += [
        "",
        "  acme-retail floods its queue; the other four tenants should not notice.",
        f"  A night on call, in ten minutes: sign in as oncall, and {url}demo/ leads through it.",
        "  Ctrl-C stops all of it.",
    ]
    return "\n".join([*lines, ""])


def _gunicorn(fd: int) -> tuple[str, ...]:
    options = ("--worker-class", "gthread", "--threads", "8", "--graceful-timeout", "3", "--no-control-socket")
    return (sys.executable, "-m", "gunicorn", "jobops.wsgi", "--bind", f"fd://{fd}", *options)


def _server(name: str, listener: socket.socket, *arguments: str) -> Program:
    fd = listener.fileno()
    return Program(name, (sys.executable, "-m", f"jobops.demo.{name}", "--fd", str(fd), *arguments), rank=1, fds=(fd,))
