"""Job modules are found, and one that cannot be imported takes nothing down."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings

from jobops.contracts import discovery, registry

PREFIX = "discovered_"
JOB = """
from jobops import job
@job(owner="x", drain_sla="1h", idempotent="reads and writes nothing", timeout="1s", name="{name}")
def {name}(): ...
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the import path; what it held is forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(discovery, "_faults", ())
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]


def write(folder: Path, name: str, text: str) -> str:
    (folder / f"{PREFIX}{name}.py").write_text(text)
    return f"{PREFIX}{name}"


def test_the_named_modules_are_imported(modules: Path) -> None:
    name = write(modules, "good", JOB.format(name="found"))
    assert discovery.discover([name, name]) == ()
    assert registry.resolve("found") is not None


def test_jobs_py_of_an_installed_app_is_imported(modules: Path) -> None:
    app = modules / f"{PREFIX}app"
    app.mkdir()
    (app / "__init__.py").write_text("")
    (app / "jobs.py").write_text(JOB.format(name="of_the_app"))
    with override_settings(INSTALLED_APPS=[f"{PREFIX}app"]):
        assert discovery.discover() == ()
    assert registry.resolve("of_the_app") is not None


@pytest.mark.parametrize(
    ("text", "error_class"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        ("raise SystemExit(3)", "SystemExit"),
        ("from jobops import job\njob(ownr='x')", "TypeError"),
    ],
)
def test_a_module_that_cannot_be_imported_is_kept_as_a_fault_and_the_others_go_on(
    modules: Path, text: str, error_class: str
) -> None:
    bad, good = write(modules, "bad", text), write(modules, "good", JOB.format(name="still_found"))
    (fault,) = discovery.discover([bad, good])
    assert (fault.module, fault.error_class) == (bad, error_class)
    assert fault.error
    assert discovery.import_faults() == (fault,)
    assert registry.resolve("still_found") is not None


def test_a_module_that_does_not_exist_is_a_fault() -> None:
    (fault,) = discovery.discover(["no.such.module"])
    assert fault.error_class == "ModuleNotFoundError"
