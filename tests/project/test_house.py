"""The project as a whole: what is locked, what imports what, what make offers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
PINNED = re.compile(r"^(?P<name>[a-z0-9-]+)==(?P<version>\S+)", re.MULTILINE)


def run(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_the_lock_pins_everything_with_a_hash_and_names_no_address() -> None:
    assert not re.search(r"://|@|index|find-links|file:|/", re.sub(r"^\s*#.*$", "", LOCK, flags=re.MULTILINE))
    for block in re.split(r"\n(?=[a-z])", LOCK.strip()):
        assert PINNED.match(block), block
        assert "--hash=sha256:" in block, block


def test_the_lock_holds_every_dependency_that_the_project_names() -> None:
    pinned = {match["name"] for match in PINNED.finditer(LOCK)}
    named = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["project"]["optional-dependencies"].values():
        named += [requirement for requirement in extra if not requirement.startswith("jobops[")]
    missing = {re.match(r"[a-z0-9-]+", requirement)[0] for requirement in named} - pinned  # type: ignore[index]
    assert not missing


def test_the_lock_serves_the_oldest_python_and_the_newest_django() -> None:
    versions = [match["version"] for match in PINNED.finditer(LOCK) if match["name"] == "django"]
    assert sorted(version.split(".")[0] for version in versions) == ["5", "6"]


def test_imports_run_one_way() -> None:
    ended = run(Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache")
    assert ended.returncode == 0, ended.stdout


@pytest.mark.parametrize("module", ["jobops.engine", "jobops.engine.client", "jobops.engine.worker"])
def test_the_engine_loads_no_django(module: str) -> None:
    program = f"import sys, {module}; print(sorted(name for name in sys.modules if name.split('.')[0] == 'django'))"
    ended = run(sys.executable, "-W", "error", "-c", program)
    assert ended.stdout == "[]\n", ended.stderr


def test_make_help_lists_the_targets_that_people_are_told_of() -> None:
    listed = run("make", "help").stdout
    for target in ("demo", "dev", "test", "check", "bench", "lock", "clean", "help", ".venv"):
        assert f"make {target} " in listed


@pytest.mark.parametrize("target", ["demo", "dev", "test", "check", "bench", "lock"])
def test_every_target_makes_the_virtual_environment_first(target: str, tmp_path: Path) -> None:
    planned = run("make", "--dry-run", target, f"VENV={tmp_path}/venv").stdout
    assert f"-m venv {tmp_path}/venv" in planned
    assert planned.index("--require-hashes") < planned.index("--editable")


def test_the_virtual_environment_is_made_again_when_the_lock_changed(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    venv.mkdir()
    (venv / ".installed").touch()
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements.lock").touch()
    for age, made_again in ((-1, False), (10, True)):
        newest = (tmp_path / "requirements.lock").stat().st_mtime
        os.utime(venv / ".installed", (newest - age, newest - age))
        planned = run("make", "--dry-run", "-C", tmp_path, ".venv", "VENV=venv").stdout
        assert ("-m venv" in planned) is made_again


def test_an_old_python_is_named_in_one_line(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    ended = run("make", "-s", ".venv", f"VENV={tmp_path}/venv", f"PYTHON={old}")
    assert ended.returncode
    assert "jobops needs Python 3.11 or later" in ended.stderr
    assert not (tmp_path / "venv").exists()
