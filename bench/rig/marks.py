"""The job that all sides run in `peers.py`: one byte more in a file, so that who counts asks no Redis. Imports nothing
but the standard library, as it runs in the peers' own environments too."""

from __future__ import annotations

import os

MARKS = "BENCH_MARKS"

_file = -1


def mark() -> None:
    """Appends a byte to the file that the environment names."""
    global _file
    if _file < 0:
        _file = os.open(os.environ[MARKS], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(_file, b".")
