"""The dead intake: deaths in Redis become dead letters in the database."""

from __future__ import annotations

from dlq.intake import take_in
from jobops.scheduling.duties import Context

BATCH = 500


def run(context: Context) -> int:
    """Take in one batch; answers how many. Raises ``redis.RedisError`` and ``django.db.Error``."""
    return take_in(context.engine, BATCH)
