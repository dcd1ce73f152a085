"""Batches: what became of their members."""

from __future__ import annotations

from jobops.engine.commands import Commands


class BatchCommands(Commands):
    """Batches: what became of their members."""
