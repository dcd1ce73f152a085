"""The watch over replays at their sources, beside everything else: a source may hang."""

from __future__ import annotations

from django.db import close_old_connections

from dlq.foreign.watching import Watch
from jobops.scheduling.aside import Aside

NAME = "replays at RQ sources"


def aside() -> Aside:
    """What runs in a thread of its own; two that look at the same time are as right as one."""
    return Aside(NAME, Watch().run, every_s=1.0, housekeeping=close_old_connections)
