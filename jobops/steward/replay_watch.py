"""The watch over replays: one that is nowhere any more opens its letter again."""

from __future__ import annotations

from dlq.watch import watch
from jobops.scheduling.duties import Context

BATCH = 200


def run(context: Context) -> int:
    """Look for one batch of those whose time has come; answers how many. Raises as ``dlq.watch.watch``."""
    return watch(context.engine, BATCH)
