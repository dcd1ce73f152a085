"""The environment of a test process: services of its own, so that a test can never reach a developer's."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from jobops import embedded
from tests.tools import TEST_ALL

DATABASE_VARIABLE = "TEST_DATABASE_URL"
"""Names the server to run on instead of SQLite; set by `python -m tests.postgres`."""

SECRET_KEY = "only for tests, and known to everybody"
_FOREIGN = ("DATABASE_URL", "SECRET_KEY", "DEBUG", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS")


def prepare() -> Path:
    """Point the environment, and so the settings and every child process, at a fresh folder. Returns the folder."""
    home = Path(tempfile.mkdtemp(prefix="jobops-test-"))
    owner = os.getpid()  # children by fork run exit handlers too
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(home, ignore_errors=True))
    for name in list(os.environ):
        if (name.startswith("JOBOPS_") and name != TEST_ALL) or name in _FOREIGN:
            del os.environ[name]
    os.environ["JOBOPS_VAR"] = str(home)
    os.environ["JOBOPS_REDIS_URL"] = embedded.url_of(home / "redis")
    os.environ["DATABASE_URL"] = os.environ.get(DATABASE_VARIABLE) or f"sqlite:///{home}/db.sqlite3"
    os.environ["JOBOPS_DEMO"] = "1"  # the demo's jobs and tables are tested too
    os.environ["SECRET_KEY"] = SECRET_KEY
    os.environ["JOBOPS_LOG_LEVEL"] = "WARNING"
    return home


def read_only() -> None:
    """For programs that only look at the settings (mypy's Django plugin): the demo's tables, and no file written."""
    os.environ |= {"JOBOPS_DEMO": "1", "SECRET_KEY": SECRET_KEY, "DATABASE_URL": "sqlite:////tmp/unused.sqlite3"}
