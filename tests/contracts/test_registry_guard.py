"""What tests declare ends with them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from jobops import job
from jobops.contracts import registry
from tests.contracts.samples import GOOD
from tests.registry_guard import types_end_here
from tests.runtime import effect_jobs


def test_what_a_test_declares_is_gone_and_what_was_there_is_as_it_was() -> None:
    @job(**GOOD, name="before")
    def before() -> None: ...

    with types_end_here():

        @job(**GOOD, name="within")
        def within() -> None: ...

        @job(**GOOD, name="before")
        def again() -> None: ...

        job(**GOOD, name="within.another")(effect_jobs.walk.job_type.func)
        assert len(registry.registry().conflicts()) == 1
    assert registry.all_types() == [before.job_type]
    assert registry.registry().conflicts() == []


def test_what_an_import_declared_stays_unless_its_module_is_the_tests_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guarded_own.py").write_text(
        'from jobops import job\n@job(owner="x", drain_sla="1h", idempotent="yes", timeout="1s", name="own")\n'
        "def own(): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("guarded_own", "tests.worker.contract_jobs"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with types_end_here():
        importlib.import_module("guarded_own")
        importlib.import_module("tests.worker.contract_jobs")
        assert registry.resolve("own")
    assert registry.resolve("own") is None
    assert registry.resolve("worker.double") is not None
    del sys.modules["guarded_own"]
