"""Work in a process of its own, to be killed there."""

from __future__ import annotations

import os
from collections.abc import Callable

from django.db import connection


def in_child(work: Callable[[], None]) -> int:
    """Run this in a forked process with a database connection of its own; answers its wait status."""
    connection.close()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1]
