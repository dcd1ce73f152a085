"""Hooks that tests plug into a worker."""

from __future__ import annotations

import os
import time
from pathlib import Path

from jobops.engine.worker_options import Hooks


def _slow_before_job() -> None:
    """A pause between the claim and the job, until the file named here is there."""
    go = Path(os.environ["JOBOPS_TEST_GO"])
    go.with_suffix(".waiting").touch()
    while not go.exists():
        time.sleep(0.01)


def _note(word: str) -> None:
    with Path(os.environ["JOBOPS_TEST_NOTES"]).open("a") as file:
        file.write(f"{word} {os.getpid()}\n")


def _break() -> None:
    raise RuntimeError("this slot does not come up")


def _fail() -> None:
    raise OSError("the database is away")


HOOKS = {
    "failing": Hooks(before_job=_fail, after_job=_fail),
    "broken": Hooks(after_fork=_break),
    "none": Hooks(),
    "slow": Hooks(before_job=_slow_before_job),
    "noting": Hooks(
        before_fork=lambda: _note("before_fork"),
        after_fork=lambda: _note("after_fork"),
        before_job=lambda: _note("before_job"),
        after_job=lambda: _note("after_job"),
    ),
}
