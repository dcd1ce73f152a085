"""What a running job saves of itself: checkpoints and progress."""

from __future__ import annotations

from jobops.engine.commands import Commands


class EffectCommands(Commands):
    """What a running job saves of itself: checkpoints and progress."""
