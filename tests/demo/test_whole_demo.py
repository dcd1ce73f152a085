"""`manage.py demo` as a newcomer runs it: it comes up, everything happens, it stops and leaves nothing behind."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools import wait_for

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]


def environment(home: Path) -> dict[str, str]:
    """A shell that is set up for production: the demo must not care."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("JOBOPS_", "DJANGO_"))}
    ours |= {"JOBOPS_VAR": str(home), "DATABASE_URL": "postgres://prod@db.invalid/prod"}
    return ours | {"JOBOPS_REDIS_URL": "redis://redis.invalid:6379/0"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def start(home: Path, port: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "manage.py"), "demo", "--port", str(port)]
    with (home / "output").open("a") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment(home), text=True, cwd=home)


def running_in(home: Path) -> list[str]:
    """The command lines of the processes that have to do with this folder."""
    found = []
    for folder in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        try:
            told = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if str(home).encode() in told and state != "Z" and folder.name != str(os.getpid()):
            found.append(told.split(b"\0\0")[0].replace(b"\0", b" ").decode(errors="replace")[:200])
    return found


class Demo:
    """A running demo."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.process = start(home, self.port)

    @property
    def output(self) -> str:
        return (self.home / "output").read_text()

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def rows(self, query: str) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(f"file:{self.home}/demo/jobops.sqlite3?mode=ro", uri=True, timeout=20)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def password(self, username: str) -> str:
        found = re.search(rf"^  {username} +(\S+)", self.output, re.MULTILINE)
        assert found, self.output
        return found[1]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    demo = Demo(tmp_path)
    try:
        wait_for(lambda: "jobops is up at" in demo.output or demo.process.poll() is not None, seconds=120, what="up")
        assert demo.process.poll() is None, demo.output
        yield demo
    finally:
        demo.process.kill()
        demo.process.wait()


def it_answers_and_lets_its_accounts_in(demo: Demo) -> None:
    with urllib.request.urlopen(demo.url("healthz"), timeout=10) as answer:
        assert answer.status == 200
    jar = http.cookiejar.CookieJar()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    with browser.open(demo.url(), timeout=10) as page:
        sign_in, text = page.url, page.read().decode()
    assert len(text) > 1000
    assert "acme-retail" not in text
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', text)
    assert token
    form = {"username": "oncall", "password": demo.password("oncall"), "csrfmiddlewaretoken": token[1], "next": "/"}
    with browser.open(sign_in, data=urllib.parse.urlencode(form).encode(), timeout=10) as page:
        assert "acme-retail" in page.read().decode()


def within_a_minute_jobs_of_every_type_have_run_and_some_have_died(demo: Demo) -> None:
    results = demo.home / "demo" / "results"
    services = (demo.home / "demo" / "services.json").read_text()
    receiver = re.search(r"http://[^\"]+", services)
    assert receiver

    def all_ran() -> bool:
        with urllib.request.urlopen(f"{receiver[0]}/stats", timeout=10) as answer:
            stats = answer.read().decode()
        statements = demo.rows("SELECT count(*) FROM demo_statement")[0][0]
        return (
            any(results.glob("thumbnails/*/*.jpg"))
            and any(results.glob("exports/*/*.csv"))
            and any((demo.home / "demo" / "mail").glob("*.eml"))
            and statements != 0
            and all(f'"{status}"' in stats for status in (200, 400, 410))
        )

    wait_for(all_ran, seconds=60, what="a run of every type")

    def died() -> set[object]:
        return set(demo.rows("SELECT job_type, reason FROM dlq_deadletter"))

    expected = {
        ("billing.monthly_statement", "exhausted"),
        ("catalog.import_archive", "worker_lost"),
        ("media.make_thumbnail", "poison"),
        ("mail.send_order_mail", "poison"),
        ("webhooks.deliver", "poison"),
    }
    wait_for(lambda: expected <= died(), seconds=60, what=f"deaths: {expected}")


def commands_join_the_demo_that_runs_in_their_checkout(demo: Demo) -> None:
    env = environment(demo.home)
    del env["DATABASE_URL"], env["JOBOPS_REDIS_URL"]
    command = [sys.executable, str(ROOT / "manage.py"), "tenants", "list", "--json"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=demo.home)
    assert "acme-retail" in told.stdout


def it_goes_wrong_on_request_and_the_teams_are_told(demo: Demo) -> None:
    env = environment(demo.home)
    del env["DATABASE_URL"], env["JOBOPS_REDIS_URL"]
    command = [sys.executable, str(ROOT / "manage.py"), "demo_incident", "--deaths", "60", "--json"]
    told = subprocess.run(command, env=env, capture_output=True, text=True, check=True, cwd=demo.home)
    assert sum(json.loads(told.stdout)["sent"].values()) == 60
    letters = "SELECT job_type, owner, count(*) FROM dlq_deadletter WHERE job_type IN {} GROUP BY 1, 2"
    jobs = ("billing.capture_payment", "billing.report_invoice", "exports.export_orders")
    expected = [(jobs[0], "payments", 36), (jobs[1], "billing", 15), (jobs[2], "data-exports", 9)]
    wait_for(lambda: demo.rows(letters.format(jobs)) == expected, seconds=180, what="three causes")
    sent = f"""SELECT DISTINCT c.name FROM jobops_delivery d JOIN jobops_channel c ON c.id = d.channel_id
        JOIN jobops_alert a ON a.id = d.alert_id
        WHERE d.state = 'sent' AND json_extract(a.scope, '$.job_type') IN {jobs}"""
    channels = {("payments mail",), ("billing mail",), ("data-exports mail",), ("demo chat",)}
    wait_for(lambda: set(demo.rows(sent)) == channels, seconds=60, what="messages")
    assert demo.rows("SELECT count(*) FROM jobops_delivery WHERE state = 'given_up'") == [(0,)]


def a_second_demo_and_a_busy_port_are_refused_in_one_line(demo: Demo) -> None:
    for home, port, why in (
        (
            demo.home / "elsewhere",
            demo.port,
            f"port {demo.port} cannot be used (Address already in use): choose another",
        ),
        (demo.home, free_port(), "the demo already runs in"),
    ):
        command = [sys.executable, str(ROOT / "manage.py"), "demo", "--port", str(port)]
        told = subprocess.run(command, env=environment(home), capture_output=True, text=True, check=False)
        assert told.returncode == 1
        assert why in told.stderr
        assert len(told.stderr.strip().splitlines()) == 1


def who_is_killed_is_replaced(demo: Demo) -> None:
    for name in ("scheduler", "worker", "web"):
        found = [f for f in Path("/proc").iterdir() if f.name.isdigit() and _is(f, name, demo)]
        assert found, name
        os.kill(min(int(folder.name) for folder in found), signal.SIGKILL)
        wait_for(lambda name=name: f"{name} is running again" in demo.output, seconds=30, what=f"{name} again")
    with urllib.request.urlopen(demo.url("healthz"), timeout=30) as answer:
        assert answer.status == 200


def _is(folder: Path, name: str, demo: Demo) -> bool:
    sign = {"web": b"gunicorn", "worker": b"manage.py\0worker", "scheduler": b"manage.py\0scheduler"}[name]
    try:
        return (
            sign in (folder / "cmdline").read_bytes() and str(demo.home).encode() in (folder / "environ").read_bytes()
        )
    except OSError:
        return False


def sigterm_stops_all_of_it_within_seconds(demo: Demo) -> None:
    demo.process.terminate()
    assert demo.process.wait(timeout=30) == 0, demo.output
    assert "did not stop in time" not in demo.output
    wait_for(lambda: not running_in(demo.home), seconds=5, what=f"an end of {running_in(demo.home)}")
    assert "Traceback" not in demo.output


def the_next_start_goes_on_where_it_stopped(demo: Demo) -> None:
    before = demo.rows("SELECT count(*) FROM dlq_deadletter")[0][0]
    password = demo.password("operator")
    (demo.home / "output").write_text("")
    demo.process = start(demo.home, demo.port)
    wait_for(lambda: "jobops is up at" in demo.output, seconds=60, what="up again")
    assert demo.password("operator") == password
    assert demo.rows("SELECT count(*) FROM dlq_deadletter")[0][0] >= before  # type: ignore[operator]
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(timeout=30) == 0


def test_the_demo_as_a_newcomer_runs_it(demo: Demo) -> None:
    """One test, as starting it is what takes the time; each step is a sentence."""
    it_answers_and_lets_its_accounts_in(demo)
    within_a_minute_jobs_of_every_type_have_run_and_some_have_died(demo)
    commands_join_the_demo_that_runs_in_their_checkout(demo)
    it_goes_wrong_on_request_and_the_teams_are_told(demo)
    a_second_demo_and_a_busy_port_are_refused_in_one_line(demo)
    who_is_killed_is_replaced(demo)
    sigterm_stops_all_of_it_within_seconds(demo)
    the_next_start_goes_on_where_it_stopped(demo)
