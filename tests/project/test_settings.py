"""The start with a good and with a bad environment, as a person meets it: a process, its exit code, its words."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from jobops.embedded import EmbeddedRedis

ROOT = Path(__file__).parents[2]


def start(var: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an otherwise empty environment."""
    environment = {"PATH": "/usr/bin:/bin", "JOBOPS_VAR": str(var), **variables}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"DATABASE_URL": "shop"}, "DATABASE_URL"),
        ({"JOBOPS_REDIS_URL": "redis//h"}, "JOBOPS_REDIS_URL"),
        ({"JOBOPS_WORKER_LANES": "express"}, "JOBOPS_WORKER_LANES"),
        ({"JOBOPS_LANES": "interactive=4"}, "JOBOPS_LANES"),
        ({"JOBOPS_LEASE_SECONDS": "9"}, "JOBOPS_LEASE_SECONDS"),
        ({"JOBOPS_HEARTBEAT_SECONDS": "16"}, "JOBOPS_LEASE_SECONDS"),
        ({"JOBOPS_PAYLOAD_LIMIT": "big"}, "JOBOPS_PAYLOAD_LIMIT"),
        ({"JOBOPS_JOB_MODULES": "shop/jobs.py"}, "JOBOPS_JOB_MODULES"),
        ({"JOBOPS_JOB_MODULES": "shop.jobs"}, "JOBOPS_JOB_MODULES"),
        ({"JOBOPS_VAR": "/etc/passwd"}, "JOBOPS_VAR"),
        ({"JOBOPS_VAR": "/proc/nope"}, "JOBOPS_VAR"),
        ({"JOBOPS_VAR": "/proc/nope", "DATABASE_URL": "sqlite:////tmp/unused.sqlite3"}, "JOBOPS_VAR"),
        ({"DATABASE_URL": "sqlite:////typo/dir/x.sqlite3"}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite:///x.sqlite3"}, "DATABASE_URL"),
        ({"CSRF_TRUSTED_ORIGINS": "jobops.example.com"}, "CSRF_TRUSTED_ORIGINS"),
        ({"ALLOWED_HOSTS": "https://jobops.example.com"}, "ALLOWED_HOSTS"),
        ({"JOBOPS_DEFAULT_OWNER": " "}, "JOBOPS_DEFAULT_OWNER"),
        ({"JOBOPS_RETENTION_DAYS": "6"}, "JOBOPS_RETENTION_DAYS"),
        ({"JOBOPS_RETENTION_DAYS": "0"}, "JOBOPS_RETENTION_DAYS"),
        ({"JOBOPS_TRUSTED_PROXIES": "10.0.0.1"}, "JOBOPS_TRUSTED_PROXIES"),
        ({"DATABASE_URL": "postgres://u@127.0.0.1/shop", "SECRET_KEY": "x" * 31}, "SECRET_KEY"),
        ({"SECRET_KEY": "x" * 31}, "SECRET_KEY"),
        ({"DEBUG": "perhaps"}, "DEBUG"),
        ({"DATABASE_URL": "postgres://u@127.0.0.1/shop"}, "SECRET_KEY"),
    ],
    ids=str,
)
def test_a_bad_value_stops_the_start_with_one_line(variables: dict[str, str], named: str, tmp_path: Path) -> None:
    ended = start(tmp_path, "manage.py", "check", **variables)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"jobops: {named} ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""
    assert not Path("/typo").exists()


def test_without_any_variable_a_checkout_starts_on_sqlite_in_its_var_folder(tmp_path: Path) -> None:
    ended = start(tmp_path, "manage.py", "check", "--fail-level", "WARNING")
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "secret_key").exists()


def test_a_command_without_redis_says_in_one_line_how_to_start_it(tmp_path: Path) -> None:
    ask = "import sys; sys.argv = ['manage.py', 'shell', '-v0', '-c', sys.argv[1]]; import manage; manage.main()"
    ping = "from django.conf import settings; import redis; print(redis.from_url(settings.JOBOPS_REDIS_URL).ping())"
    ended = start(tmp_path, "-c", ask, ping)
    assert ended.returncode == 1
    assert "make dev" in ended.stderr
    assert ended.stderr.count("\n") == 1

    with EmbeddedRedis(tmp_path / "redis"):
        ended = start(tmp_path, "-c", ask, ping)
    assert ended.stdout == "True\n", ended.stderr


def test_the_demo_joins_by_itself_only_where_no_service_of_ones_own_is_named(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "services.json").write_text("{}")
    show = "from jobops import settings; print(settings.JOBOPS_DEMO)"
    assert start(tmp_path, "-c", show).stdout == "True\n"
    assert start(tmp_path, "-c", show, JOBOPS_REDIS_URL="redis://127.0.0.1:1/0").stdout == "False\n"


@pytest.mark.django_db
def test_the_database_is_set_up_for_several_writers() -> None:
    if connection.vendor != "sqlite":
        assert settings.DATABASES["default"]["CONN_HEALTH_CHECKS"]
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        assert cursor.fetchone() == ("wal",)
    assert settings.DATABASES["default"]["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_https_turns_on_what_only_https_can_carry(tmp_path: Path) -> None:
    show = (
        "from jobops import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT)"
    )
    assert start(tmp_path, "-c", show, JOBOPS_HTTPS="1").stdout == "True True True\n"


def test_only_a_process_that_asks_for_it_gets_a_pool_of_postgres_connections(tmp_path: Path) -> None:
    show = "from jobops import settings as s; d = s.DATABASES['default']; print(d['OPTIONS'].get('pool'))"
    given = {"DATABASE_URL": "postgres://u@127.0.0.1/shop", "SECRET_KEY": "x" * 50}
    assert start(tmp_path, "-c", show, **given).stdout == "None\n"
    assert "'max_size': 8" in start(tmp_path, "-c", f"from jobops import wsgi; {show}", **given).stdout


def test_the_production_values_of_the_operations_page_pass_djangos_deployment_check(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "operations.md").read_text()
    example = page.partition("# /etc/jobops.env\n")[2].partition("```")[0]
    variables = dict(line.split("=", 1) for line in example.splitlines() if line)
    assert {"DATABASE_URL", "JOBOPS_REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "JOBOPS_HTTPS"} <= variables.keys()
    ended = start(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "WARNING", **variables)
    assert ended.returncode == 0, ended.stderr
    assert "no issues" in ended.stdout
    variables["JOBOPS_HTTPS"] = "0"
    ended = start(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "WARNING", **variables)
    assert "security.W008" in ended.stderr, "silence is for those that HTTPS settles"
