"""What tests share that is no fixture: what this machine has, and waiting for a condition."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pytest

TEST_ALL = "JOBOPS_TEST_ALL"
T = TypeVar("T")


def everything_must_run() -> bool:
    """Whether a skipped test counts as a failed one."""
    return os.environ.get(TEST_ALL, "") not in ("", "0")


def chromium() -> str | None:
    """The path of the browser that page tests drive (`executable_path`), or None."""
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    return None


def reason_of(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def wait_for(condition: Callable[[], T], *, seconds: float = 10.0, what: str = "the condition") -> T:
    """Return the condition's first true answer; fail the test when there is none within `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds:g} s (last answer: {answer!r})")
        time.sleep(0.01)
