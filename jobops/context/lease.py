"""The running job's way to the engine: what it saves and asks under its lease."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from jobops.contracts.errors import LeaseLost, NotInstalled
from jobops.contracts.running import RunningJob
from jobops.engine.client import Engine
from jobops.engine.link import FAILURES, Backoff, is_away, is_starved
from jobops.engine.scripts import Scripts

log = logging.getLogger("jobops.context")

T = TypeVar("T")

LOUD_SECONDS = 0.5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_source: Callable[[], Engine] | None = None


def set_engine(source: Callable[[], Engine] | None) -> None:
    """Reach the engine through ``source`` in this process from now on."""
    global _source
    _source = source


def ask(question: Callable[[Scripts], T]) -> T:
    """One request. Raises NotInstalled, and what the engine raises when Redis is away."""
    if _source is None:
        raise NotInstalled("engine for what a job saves")
    return question(_source().scripts)


def insist(job: RunningJob, question: Callable[[Scripts], T]) -> T:
    """The same, asked again and again while Redis is away: the job's time-out ends it, or its slot is ended once its
    lease may be over. So the request must be harmless when it comes twice."""
    backoff = Backoff()
    while True:
        try:
            return ask(question)
        except FAILURES as error:
            if not is_away(error) or is_starved(error):
                raise
            pause = backoff.next()
            if pause > LOUD_SECONDS:
                log.warning("job %s waits for Redis, which is away: %s", job.id, error)
            time.sleep(pause)


def now(job: RunningJob) -> datetime:
    """The instant on Redis's clock: the one that runs on different hosts have in common."""
    seconds, micros = insist(job, lambda scripts: scripts.redis.time())
    return EPOCH + timedelta(seconds=int(seconds), microseconds=int(micros))


def hold(job: RunningJob) -> None:
    """Makes sure that the lease is this run's, and extends it. Raises LeaseLost when it was given away."""
    if not insist(job, lambda scripts: scripts.renew([(job.id, job.token)]))[0]:
        raise LeaseLost(job.id)
