"""The outbox relay: pushes rows whose own process did not (killed after its commit, or Redis was away)."""

from __future__ import annotations

from jobops.context import relay
from jobops.runtime.enqueuer import pusher
from jobops.scheduling.duties import Context

BATCH = 200


def run(context: Context) -> int:
    """Push one batch; answers how many rows it dealt with. Raises ``redis.RedisError`` and ``django.db.Error``."""

    def redis_takes_writes() -> None:
        # Not a ping: a Redis that is full or read-only answers those.
        context.engine.scripts.lock("outbox-probe", "relay", 1000)

    return relay.relay(pusher(), limit=BATCH, ready=redis_takes_writes)


def forget(context: Context) -> int:
    """Delete rows that ended over a day ago (coalesced, cancelled); answers how many."""
    return relay.forget_ended()
