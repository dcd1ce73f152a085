"""``manage.py tenants`` as scripts call it: exit codes, one line on stderr, keys of the JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from jobops.engine.client import Engine
from jobops.management.commands.tenants import Command
from tenants.models import Tenant
from tenants.services import tenant_create
from tests.tenants.fakes import Recorder

pytestmark = pytest.mark.django_db(transaction=True)


def run(*args: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("tenants", *args, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(*args: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as refusal:
        run(*args)
    return refusal.value.returncode, str(refusal.value)


def test_create_set_and_list(pusher: Recorder) -> None:
    assert run("create", "acme", "--name", "Acme Inc", "--weight", "2", "--cap", "none", "--depth-limit", "50") == (
        "created acme\n", "",
    )  # fmt: skip
    row = json.loads(run("set", "acme", "--weight", "3", "--json")[0])
    assert (row["weight"], row["cap"]) == (3.0, None)
    run(
        "set",
        "acme",
        "--weight",
        "2",
        "--cap",
        "4",
        "--lane-cap",
        "bulk=2",
        "--lane-cap",
        "interactive=3",
        "--intake",
        "closed",
    )
    run("set", "acme", "--lane-cap", "bulk=none", "--depth-limit", "none", "--may-pause", "yes")
    (row,) = json.loads(run("list", "--json")[0])
    assert row | {"slug": "acme", "name": "Acme Inc", "weight": 2.0, "cap": 4, "depth_limit": None} == row
    assert (row["paused"], row["intake"], row["lane_caps"]) == (False, "closed", {"interactive": 3})
    assert Tenant.objects.get().may_pause
    assert len(pusher.pushed) == 4


def test_a_list_is_a_list_also_when_it_is_empty_and_a_table_for_people(pusher: Recorder) -> None:
    assert json.loads(run("list", "--json")[0]) == []
    assert "tenants create SLUG" in run("list")[0]
    run("create", "acme")
    lines = run("list")[0].splitlines()
    assert lines[0].split() == ["slug", "name", "weight", "cap", "rate", "depth", "limit", "paused", "intake"]
    assert lines[1].split() == ["acme", "acme", "1", "10", "-", "-", "no", "open"]


def test_pause_and_resume(pusher: Recorder) -> None:
    run("create", "acme")
    assert run("pause", "acme", "--reason", "floods")[0] == "paused acme\n"
    (row,) = json.loads(run("list", "--json")[0])
    assert (row["paused"], row["pause_reason"]) == (True, "floods")
    assert row["paused_by"].startswith("command")
    code, line = refused("pause", "acme", "--reason", "again")
    assert (code, "\n" in line) == (1, False)
    assert line.startswith("acme is already paused by command")
    assert line.endswith(": floods")
    assert run("resume", "acme")[0] == "resumed acme\n"
    assert refused("resume", "acme") == (1, "acme is not paused")
    assert not Tenant.objects.get().paused


def test_a_pause_that_is_not_in_force_fails_and_says_so(pusher: Recorder) -> None:
    """CC-10: who gets exit code 0 can rely on it."""
    run("create", "acme")
    pusher.away = True
    code, line = refused("pause", "acme", "--reason", "floods")
    assert code == 1
    assert "marked paused, but not in force yet: Redis could not be reached" in line
    out, err = run("set", "acme", "--cap", "3")
    assert out == "changed acme\n"
    assert "not in force yet" in err


def test_delete_is_refused_while_there_is_work(plugged: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobops.management.commands.tenants.get_engine", lambda: plugged)
    tenant = tenant_create(slug="acme", by="test").tenant
    from jobops.engine.records import NewJob

    plugged.scripts.enqueue(NewJob("j1", "acme", "bulk", "t", b"[]"))
    code, line = refused("delete", "acme")
    assert code == 1
    assert "still has 1 waiting jobs" in line
    assert "\n" not in line
    assert run("delete", "acme", "--force")[0] == "deleted acme\n"
    assert not Tenant.objects.filter(pk=tenant.pk).exists()


def test_what_cannot_be_done_is_code_1(pusher: Recorder) -> None:
    run("create", "acme")
    for args, says in (
        (("create", "acme"), "SLUG: a tenant 'acme' exists already"),
        (("create", "Acme"), "SLUG: 'Acme' must be 1 to 50"),
        (("create", "b", "--weight", "0"), "--weight: 0.0 must be from"),
        (("create", "b", "--lane-cap", "express=1"), "--lane-cap: there is no lane 'express'"),
        (("set", "nobody", "--cap", "1"), "SLUG: 'nobody' is not known"),
        (("pause", "nobody", "--reason", "r"), "SLUG: 'nobody' is not known"),
        (("delete", "nobody"), "SLUG: 'nobody' is not known"),
    ):
        code, line = refused(*args)
        assert (code, "\n" in line) == (1, False), args
        assert says in line


@pytest.mark.parametrize(
    "args",
    [
        "", "explode", "create", "create acme --cap 0", "create acme --cap many", "create acme --weight heavy",
        "create acme --lane-cap bulk", "pause acme", "set acme --intake ajar", "set acme --colour red",
    ],
)  # fmt: skip
def test_wrong_usage_is_code_2(args: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = Command()
    command._called_from_command_line = True
    parser = command.create_parser("manage.py", "tenants")
    with pytest.raises(SystemExit) as end:
        parser.parse_args(args.split())
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_setting_nothing_is_wrong_usage(pusher: Recorder) -> None:
    run("create", "acme")
    code, line = refused("set", "acme")
    assert (code, "at least one thing to set" in line) == (2, True)


def test_a_shell_sees_the_code_and_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "tenants", "create", "Acme!"],
        cwd=settings.BASE_DIR, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("Refused: SLUG: 'Acme!' must be 1 to 50 of the characters a-z, 0-9 and -\n")
    assert done.stderr.count("\n") == 1
