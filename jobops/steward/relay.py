"""The outbox relay: pushes rows whose own process did not (killed after its commit, or Redis was away)."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobops.context import outbox_rows, relay
from jobops.context.turns import Turns
from jobops.runtime.enqueuer import pusher
from jobops.runtime.memory import memory_guard
from jobops.scheduling.duties import Context

BATCH = 200


@dataclass(slots=True)
class Relay:
    """Keeps the tenants' turns between runs."""

    batch: int = BATCH
    _turns: Turns = field(default_factory=Turns)

    def run(self, context: Context) -> int:
        """Push one batch; answers how many rows it dealt with. Raises ``redis.RedisError`` and ``django.db.Error``."""

        def redis_takes_jobs() -> bool:
            if memory_guard().is_tight():
                return False
            # Not a ping: one that is read-only answers those.
            context.engine.scripts.lock("outbox-probe", "relay", 1000)
            return True

        return relay.relay(pusher(), limit=self.batch, ready=redis_takes_jobs, turns=self._turns)


def forget(context: Context) -> int:
    """Delete rows that ended over a day ago (coalesced, cancelled); answers how many."""
    return outbox_rows.forget_ended()
