"""What a running job saves of itself, and whether the lease of another one still holds."""

from __future__ import annotations

from typing import cast

from jobops.engine.commands import Commands
from jobops.engine.keys import rq_job


class EffectCommands(Commands):
    """What a running job saves of itself, and whether the lease of another one still holds."""

    def save_checkpoint(self, job_id: str, token: str, state: bytes) -> bool:
        """Keeps the JSON that the job goes on from. False: the lease is not this token's any more."""
        return bool(self._call("save_checkpoint", job_id, token, state))

    def save_progress(self, job_id: str, token: str, done: int, total: int) -> bool:
        """Keeps how far the job is. False: the lease is not this token's any more."""
        return bool(self._call("save_progress", job_id, token, done, total))

    def lease_stands(self, job_id: str, token: str) -> bool:
        """Whether the job's lease is still this token's. One that is over stands until it is given away."""
        with self.redis.pipeline(transaction=False) as pipe:
            pipe.hget(self.keys.lease(job_id), "token")
            pipe.zscore(self.keys.leases(), job_id)
            held, expiry = pipe.execute()
        return held == token.encode() and expiry is not None

    def replay_of(self, job_id: str) -> str:
        """The death (``job:attempt``) that the job is a replay of; empty: of none."""
        told = cast(bytes | None, self.redis.hget(rq_job(job_id), "jo_replay_of"))
        return (told or b"").decode(errors="replace")
