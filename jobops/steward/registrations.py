"""Worker registrations that nobody will take back: of supervisors and slots that were killed long ago."""

from __future__ import annotations

from jobops.engine.worker_views import prune
from jobops.scheduling.duties import Context


def run(context: Context) -> int:
    """Remove those that are stale; answers how many. Raises ``redis.RedisError``."""
    return len(prune(context.engine))
