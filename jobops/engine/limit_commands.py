"""Limits and pauses of resources and job types."""

from __future__ import annotations

from jobops.engine.commands import Commands


class LimitCommands(Commands):
    """Limits and pauses of resources and job types."""
