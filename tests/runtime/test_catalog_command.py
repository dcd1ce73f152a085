"""``manage.py catalog``: what it prints, what it saves, and when it fails."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from pytest_django import Settings

from jobops.contracts.registry import temporary_registry
from jobops.engine.client import Engine
from jobops.engine.keys import average_field
from jobops.management.commands.worker import Command as WorkerCommand
from jobops.runtime import catalog as runtime_catalog
from jobops.runtime import get_engine
from jobops.runtime.installation import FREE_RELEASES, TOLD, installation
from jobops.steward.duties import duties
from tests.contracts.catalogs import declare
from tests.runtime.asking import ask, refusal, text
from tests.runtime.conftest import Outage

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sound() -> Iterator[None]:
    """One job type, and it breaks nothing."""
    with temporary_registry():
        declare()
        yield


def test_it_prints_the_design_in_three_forms(both: Engine) -> None:
    plain = text("catalog")
    assert plain.startswith("Execution design of jobops")
    assert "1 job type; no promise is broken." in plain
    assert re.search(r"Measured at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC\.", plain)
    assert text("catalog", "--format", "markdown").startswith("# Execution design\n")
    document = ask("catalog")
    assert [job["job"] for job in document["jobs"]] == ["billing.send"]
    assert document["measured_at"]
    assert document["boundaries"]["rows"][0]["measured"].startswith("Redis ")
    now = {row["what"]: row["measured"] for row in document["fairness"]["rows"]}
    assert now["Cap"] == "1 tenant, 0 without a cap"
    assert text("catalog", "--format", "json").startswith("{")


def test_it_measures_what_runs(both: Engine) -> None:
    minute = both.scripts.now_ms() // 60_000
    both.redis.hset(both.keys.minute(minute, "type"), mapping={"billing.send|b7": 50})
    both.redis.hset(both.keys.cell(), average_field("billing.send"), 42.1)
    job = ask("catalog")["jobs"][0]
    assert job["expected_duration"]["average"] == pytest.approx(0.0421)
    assert (job["expected_duration"]["p99"], job["expected_duration"]["runs"]) == (0.128, 50)


def test_check_names_each_job_type_that_breaks_a_line(both: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert "failed" not in text("catalog", "--check")
    declare(name="a.silent", owner=None)
    declare(name="b.guessing", timeout=None)
    code, message = refusal("catalog", "--check")
    assert code == 1
    assert message == "2 lines do not hold: Visibility is above the run time; Owner, drain SLA and alert"
    shown = capsys.readouterr().out
    assert "a.silent: owner is missing" in shown
    assert "b.guessing: timeout is not set" in shown
    assert "billing.send:" not in shown
    assert re.search(r"^not built +Schedules have an overlap", shown, re.MULTILINE)


def test_check_in_json_holds_the_failures(both: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    declare(name="a.silent", owner=None)
    assert refusal("catalog", "--check", "--json")[0] == 1
    lines = {line["key"]: line for line in json.loads(capsys.readouterr().out)}
    assert lines["ownership"]["state"] == "failed"
    assert lines["ownership"]["failures"][0]["subject"] == "a.silent"
    assert lines["schedules"]["state"] == "not built"


@pytest.mark.parametrize(
    ("name", "options", "begins"),
    [
        ("design.md", (), "# Execution design"),
        ("design", (), "# Execution design"),
        ("design.json", (), "{"),
        ("design.txt", (), "Execution design"),
        ("design.md", ("--format", "text"), "Execution design"),
        ("design.md", ("--json",), "{"),
    ],
)
def test_output_saves_it_as_the_files_name_says(
    both: Engine, tmp_path: Path, name: str, options: tuple[str, ...], begins: str
) -> None:
    said = text("catalog", "--output", str(tmp_path / name), *options)
    assert (tmp_path / name).read_text().startswith(begins)
    assert said == ("" if "--json" in options else f"{tmp_path / name}: written\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o644


def test_output_and_check_together_save_and_judge(both: Engine, tmp_path: Path) -> None:
    declare(name="a.silent", owner=None)
    assert refusal("catalog", "--check", "--output", str(tmp_path / "design.json"))[0] == 1
    assert json.loads((tmp_path / "design.json").read_text())["broken"] == 1


def test_a_file_that_is_there_is_replaced_as_a_whole_and_keeps_its_mode(both: Engine, tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_text("old " * 100_000)
    real.chmod(0o600)
    link.symlink_to(real)
    text("catalog", "--output", str(link))
    assert link.is_symlink()
    assert real.read_text().endswith("|\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "missing/design.md", "pipe", "circle", "nul\0"])
def test_what_is_no_file_is_refused_in_one_line_and_left_alone(both: Engine, tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    before = sorted(path.name for path in tmp_path.iterdir())
    assert refusal("catalog", "--output", str(tmp_path / name))[0] == 1
    assert refusal("catalog", "--output", "/dev/null") == (1, "--output: /dev/null is no file; name one to write to")
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_write_that_fails_leaves_the_old_file(both: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "design.md").write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    code, message = refusal("catalog", "--output", str(tmp_path / "design.md"))
    assert (code, message) == (1, f"--output: {tmp_path}/design.md cannot be written: No space left on device")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("design.md", "old")]


def test_contradicting_options_are_wrong_usage(both: Engine) -> None:
    assert refusal("catalog", "--json", "--format", "markdown")[0] == 2
    assert refusal("catalog", "--format", "html")[0] == 2


def test_unmeasured_asks_nobody_and_is_the_same_each_time(outage: Outage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_catalog, "get_engine", lambda: pytest.fail("Redis was asked"))
    monkeypatch.setattr(runtime_catalog, "_tenants", lambda: pytest.fail("the database was asked"))
    first = text("catalog", "--unmeasured", "--format", "markdown")
    assert first == text("catalog", "--unmeasured", "--format", "markdown")
    assert "not measured yet" in first


def test_with_redis_away_it_tells_what_the_code_says(outage: Outage, capsys: pytest.CaptureFixture[str]) -> None:
    outage.begin()
    assert "not measured yet" in text("catalog")
    assert capsys.readouterr().err == "Nothing was measured: Redis cannot be reached.\n"
    assert text("catalog", "--check")


def test_a_hosted_redis_may_keep_its_settings_to_itself(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.exceptions import ResponseError

    def refuse(*_: object) -> None:
        raise ResponseError("unknown command 'CONFIG'")

    monkeypatch.setattr(get_engine().redis, "config_get", refuse)
    rows: dict[str, Any] = {row["boundary"]: row["measured"] for row in ask("catalog")["boundaries"]["rows"]}
    assert rows["Durability"].startswith("appendonly ")
    assert "appendfsync" not in rows["Durability"]


def test_with_the_database_away_it_tells_the_rest(
    both: Engine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(**_: object) -> None:
        raise OperationalError("password=s3cret")

    monkeypatch.setattr("tenants.models.Tenant.objects.aggregate", away)
    assert "Not measured: the database gives no answer." in text("catalog")
    assert "s3cret" not in capsys.readouterr().err


def test_the_installation_is_told_as_the_code_has_it(both: Engine, settings: Settings) -> None:
    settings.JOBOPS_DEFAULT_OWNER = "platform"
    facts = installation()
    parser = WorkerCommand().create_parser("manage.py", "worker")
    assert facts.drain_timeout_s == parser.get_default("drain_timeout")
    assert facts.default_owner == "platform"
    assert {signal.who for signal in facts.signals} == {"platform", TOLD}
    assert [name for name, _ in facts.duties] == [duty.name for duty in duties()]
    lua = Path("jobops/engine/lua/include/give_up.lua").read_text()
    assert f"FREE_RELEASES = {FREE_RELEASES}\n" in lua
