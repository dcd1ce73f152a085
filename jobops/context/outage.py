"""Which errors say that Redis, not the job, is the trouble: the job waits in the outbox meanwhile."""

from jobops.engine.link import is_away as is_outage

__all__ = ["is_outage"]
