"""Jobs that somebody stops: the supervisor kills the slot that runs one, with all that the job started."""

from __future__ import annotations

import logging
from typing import Any

from jobops.engine.board import Board, Phase
from jobops.engine.client import Engine
from jobops.engine.fleet import Child, Fleet

log = logging.getLogger("jobops.worker")


class Stops:
    """What is to be stopped among one supervisor's slots. Redis holds the wish, with the token of the lease that it is
    meant for, until that lease is over."""

    def __init__(self, engine: Engine, supervisor: str, board: Board, fleet: Fleet) -> None:
        self._engine = engine
        self._key = engine.keys.stops(supervisor)
        self._board = board
        self._fleet = fleet

    def look(self) -> None:
        """One round. Mostly there is nothing, and it costs one call."""
        wanted: Any = self._engine.redis.hgetall(self._key)
        for raw_job, raw_token in wanted.items():
            job, token = raw_job.decode(), raw_token.decode()
            child = self._runner_of(job, token)
            if child is not None:
                log.warning("job %s was stopped: killing slot %s", job, child.name)
                self._fleet.kill(child, "stopped")
            elif self._engine.redis.hget(self._engine.keys.lease(job), "token") != raw_token:
                self._engine.redis.hdel(self._key, job)

    def _runner_of(self, job: str, token: str) -> Child | None:
        """The slot that runs this job under this very lease. One that settles it already is left to do so; in one that
        has not yet begun, the next round finds it."""
        for child in self._fleet.children.values():
            entry = self._board.read(child.index)
            if entry is None or entry.phase is not Phase.RUNNING or entry.lease is None:
                continue
            if (entry.lease.job_id, entry.lease.token) == (job, token):
                return child
        return None
