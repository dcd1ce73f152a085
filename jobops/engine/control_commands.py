"""What people do to single jobs, and why one is not running."""

from __future__ import annotations

from jobops.engine.commands import Commands


class ControlCommands(Commands):
    """What people do to single jobs, and why one is not running."""
