"""Real processes of ours on the test's own stores."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import connection


def database_url() -> str:
    """The database that the test itself uses, for a child's environment."""
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    return f"postgres://{values['USER']}@{quote(values['HOST'], safe='')}/{values['NAME']}"


def environment(**more: str) -> dict[str, str]:
    stores = {"DATABASE_URL": database_url(), "JOBOPS_REDIS_URL": settings.JOBOPS_REDIS_URL}
    return {**os.environ, **stores, "DJANGO_SETTINGS_MODULE": "jobops.settings", "JOBOPS_LOG_LEVEL": "INFO", **more}


@contextmanager
def running(log: Path, *arguments: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """``manage.py …`` with its output in ``log``; killed at the end if it still runs."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            command, env=environment(**env), stdout=output, stderr=output, stdin=subprocess.DEVNULL
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """``manage.py …`` to its end."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments]
    return subprocess.run(command, env=environment(**env), capture_output=True, text=True, timeout=60, check=False)
