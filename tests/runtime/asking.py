"""Calling commands and reading their answers."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def ask(*arguments: str) -> Any:
    out = io.StringIO()
    call_command(*arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def text(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> tuple[int, str]:
    """Exit code and message of a command that must fail, in one line."""
    with pytest.raises(CommandError) as raised:
        call_command(*arguments)
    assert "\n" not in str(raised.value)
    return raised.value.returncode, str(raised.value)
