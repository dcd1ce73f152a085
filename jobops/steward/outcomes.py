"""The ends of replays: outcomes in Redis resolve letters in the database, or open them again."""

from __future__ import annotations

from dlq.outcomes import take_outcomes
from jobops.scheduling.duties import Context

BATCH = 500


def run(context: Context) -> int:
    """Take in one batch; answers how many. Raises ``redis.RedisError`` and ``django.db.Error``."""
    return take_outcomes(context.engine, BATCH)
