"""A command on a database that nobody migrated says in one line what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.db import connection

from jobops.engine.client import Engine
from tests.runtime.asking import refusal
from tests.runtime.processes import run

pytestmark = pytest.mark.django_db(transaction=True)

ENQUEUE = ("enqueue", "tests.child", "--tenant", "nobody", "--kwargs", '{"slug": "x"}')
COMMANDS = [("tenants", "list"), ("queues",), ("dlq", "list"), ("jobs", "list", "--tenant", "acme"), ENQUEUE]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_database_without_tables_is_one_clear_line(engine: Engine, command: tuple[str, ...], tmp_path: Path) -> None:
    # On PostgreSQL the tests have a database of their own; the one that the server came with is empty.
    empty = f"sqlite:///{tmp_path}/new.sqlite3" if connection.vendor == "sqlite" else os.environ["DATABASE_URL"]
    ended = run(*command, DATABASE_URL=empty, JOBOPS_JOB_MODULES="tests.runtime.example_jobs", JOBOPS_LOG_LEVEL="")
    assert ended.returncode == 1
    assert ended.stderr == "Refused: the database has no tables yet: run `manage.py migrate`\n"
    assert ended.stdout == ""


def test_a_database_of_an_older_version_is_not_called_empty(engine: Engine) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE dlq_deadletter RENAME TO elsewhere")
    try:
        code, line = refusal("dlq", "list")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO dlq_deadletter")
    assert code == 1
    assert line.startswith("the database is not migrated to this version: run `manage.py migrate` (")
    assert "dlq_deadletter" in line
