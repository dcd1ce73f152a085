"""Many jobs that come back at one instant: how late they are, and how long a claim has to wait meanwhile."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from redis import Redis

from jobops.engine.keys import rq_job
from rig.probe import share_of
from rig.report import Row

BUDGET_MS, BUDGET_S = 10.0, 1.0


def lateness(redis: Redis, ids: list[str], at: float) -> list[float]:
    """Seconds from that instant until each of these jobs was in its queue."""
    found = []
    for first in range(0, len(ids), 5000):
        with redis.pipeline(transaction=False) as pipe:
            for job_id in ids[first : first + 5000]:
                pipe.hget(rq_job(job_id), "jo_runnable")
            found += [int(runnable) / 1000 - at for runnable in pipe.execute()]
    return found


def rows_of(name: str, what: str, busy: Sequence[float], late: Sequence[float]) -> list[Row]:
    """``busy``: ms of each claim meanwhile; ``late``: as `lateness` answers; ``what``: since when they are."""
    return [
        *(
            Row(f"{name}: claim meanwhile, {part} (ratio: of {BUDGET_MS:g} ms)", value, "ms", value / BUDGET_MS)
            for part, value in (("p99", share_of(busy, 0.99)), ("longest", max(busy)))
        ),
        *(
            Row(f"{name}: {what} to queued, {part} (ratio: of {BUDGET_S:g} s)", value, "s", value / BUDGET_S)
            for part, value in (("p50", statistics.median(late)), ("p99", share_of(late, 0.99)))
        ),
    ]
