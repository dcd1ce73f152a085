"""`import jobops` is light, and what it offers is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jobops


def test_the_engine_brings_no_django_with_it() -> None:
    code = (
        "import sys, jobops.engine, jobops.engine.scripts, jobops.engine.jobs;"
        "print([name for name in sys.modules if name.partition('.')[0] == 'django' or 'contracts' in name])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"


def test_declaring_a_job_brings_no_django_with_it() -> None:
    code = "import sys, jobops; jobops.job, jobops.current_job; print('django' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "False"


def test_every_public_name_is_there_and_typed() -> None:
    tree = ast.parse(Path(jobops.__file__).read_text())
    typed = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(jobops.__all__) == set(jobops._HOME_OF)
    assert set(jobops.__all__) <= set(dir(jobops))
    for name in jobops.__all__:
        assert getattr(jobops, name).__name__ == name


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        jobops.nothing  # noqa: B018
