"""The options of `demo` and `dev`, and what `dev` runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from django.core.management import load_command_class

from jobops.demo.launch import Stack, forget_dead_demo, hold
from jobops.demo.places import Places, Services
from jobops.demo.stage import environment_of_the_demo, settings_of_the_demo
from jobops.embedded import EmbeddedRedis
from tests.tools import wait_for

MANAGE = str(Path(__file__).parents[2] / "manage.py")


@pytest.mark.parametrize("command", ["demo", "dev"])
@pytest.mark.parametrize("port", ["0", "65536", "http", "-1", "٣"])
def test_a_port_that_is_none_is_wrong_usage(command: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_command_class("jobops", command)
    loaded._called_from_command_line = True
    parser = loaded.create_parser("manage.py", command)
    with pytest.raises(SystemExit) as caught:
        parser.parse_args([f"--port={port}"])
    assert caught.value.code == 2
    assert "give a number from 1 to 65535" in capsys.readouterr().err


def test_the_demo_takes_no_services_from_the_environment() -> None:
    given = {"PATH": "/bin", "DATABASE_URL": "postgres://prod/prod", "JOBOPS_REDIS_URL": "redis://prod", "DEBUG": "1"}
    assert environment_of_the_demo(given) == {"PATH": "/bin", "DEBUG": "1", "JOBOPS_DEMO": "1"}


def test_its_alerts_stay_on_this_machine_whatever_the_environment_says() -> None:
    own = settings_of_the_demo(Services("http://127.0.0.1:81", "127.0.0.1", 25), "http://127.0.0.1:8000/")
    given = dict.fromkeys(own, "smtp://mail.prod")
    assert (environment_of_the_demo(given) | own)["JOBOPS_ALERT_MAIL_URL"] == "smtp://127.0.0.1:25"
    assert own["JOBOPS_BASE_URL"] == "http://127.0.0.1:8000"
    assert own["JOBOPS_ALERT_ALLOW_PRIVATE_SINK"] == "http://127.0.0.1:81"


def test_a_command_that_joins_the_demo_has_its_settings(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    places.write_services(Services("http://127.0.0.1:81", "127.0.0.1", 25))
    places.write_environment(
        {"JOBOPS_LANES": "interactive:4,replays:1", "JOBOPS_BASE_URL": "http://127.0.0.1:8", "PATH": "x"}
    )
    code = (
        "import os, django; from django.conf import settings as s; "
        "print(list(s.JOBOPS_LANES), s.JOBOPS_BASE_URL, os.environ['PATH'])"
    )
    env = {"PATH": "/bin", "JOBOPS_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "jobops.settings"}

    def told(**more: str) -> str:
        command = [sys.executable, "-c", code]
        return subprocess.run(
            command, env=env | more, cwd=Path(MANAGE).parent, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert told() == "['interactive', 'replays'] http://127.0.0.1:8 /bin"
    assert told(JOBOPS_BASE_URL="http://own") == "['interactive', 'replays'] http://own /bin"
    places.forget_services()
    assert told(JOBOPS_DEMO="1") == "['interactive', 'bulk']  /bin"


def test_a_demo_that_was_killed_is_forgotten_and_one_that_runs_is_not(tmp_path: Path) -> None:
    places = Places(tmp_path / "demo")
    forget_dead_demo(places.root)
    assert not places.root.exists()
    places.write_services(Services("http://127.0.0.1:1", "127.0.0.1", 2))
    held = hold(places.root, "the demo")
    forget_dead_demo(places.root)
    assert places.services().mail_port == 2
    os.close(held)
    forget_dead_demo(places.root)
    with pytest.raises(LookupError, match="make demo"):
        places.services()


WITHOUT_EXTRAS = """
import importlib, os, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"PIL", "aiosmtpd", "pytest"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
os.environ["DJANGO_SETTINGS_MODULE"] = "jobops.settings"
import django
django.setup()
for name in ("jobops.management.commands.dev", "jobops.management.commands.demo", "jobops.demo.launch"):
    importlib.import_module(name)
"""


def test_dev_needs_no_package_of_the_demos_own(tmp_path: Path) -> None:
    env = {"PATH": "/bin", "JOBOPS_VAR": str(tmp_path)}
    command = [sys.executable, "-c", WITHOUT_EXTRAS]
    ended = subprocess.run(command, env=env, cwd=Path(MANAGE).parent, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_redis_that_was_killed_is_said_to_have_been(tmp_path: Path) -> None:
    said: list[str] = []
    with EmbeddedRedis(tmp_path / "redis") as redis:
        stack = Stack(redis, tmp_path / "logs", said.append, {})
        assert redis.pid is not None
        os.kill(redis.pid, signal.SIGKILL)
        wait_for(lambda: redis.pid is None, what="its end")
        stack._look()
    assert said[0] == "redis was killed (SIGKILL); starting it again on its append-only file"
    assert said[1].startswith("redis is running again")


@pytest.mark.slow
def test_dev_runs_the_stack_without_the_demo_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("JOBOPS_", "DJANGO_", "DATABASE_"))
    }
    env["JOBOPS_VAR"] = str(tmp_path)
    output = tmp_path / "output"
    with output.open("w") as file:
        command = [sys.executable, MANAGE, "dev", "--port", str(port), "--processes", "1"]
        process = subprocess.Popen(command, env=env, stdout=file, stderr=file)
    try:
        wait_for(lambda: "dev: up at" in output.read_text() or process.poll() is not None, seconds=60, what="up")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            assert answer.status == 200
        told = subprocess.run([sys.executable, MANAGE, "check", "--database=default"], env=env, check=False)
        assert told.returncode == 0
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0, output.read_text()
    finally:
        process.kill()
        process.wait()
    assert "demo" not in {path.name for path in tmp_path.iterdir()}
    assert output.read_text().strip().endswith("dev: stopped")
