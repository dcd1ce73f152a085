"""What a contract promises, in the engine's units: the same for a call, a replay and the job after a batch."""

from __future__ import annotations

import math
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from jobops.contracts.job_type import JobType

DEFAULT_RESULT_TTL = timedelta(hours=1)
_MS = timedelta(milliseconds=1)


class Promised(NamedTuple):
    """Milliseconds, and seconds for ``result_ttl_s``. ``lease_ms`` 0: the configured lease. ``drain_sla_ms``: for so
    long a job may be postponed, as then it has to become somebody's business; 0: it promises none."""

    timeout_ms: int
    lease_ms: int
    result_ttl_s: int
    dedup_ms: int
    drain_sla_ms: int


@lru_cache(maxsize=1024)
def promised_by(job_type: JobType) -> Promised:
    """What every job of the type carries."""
    nothing = timedelta(0)
    return Promised(
        timeout_ms=job_type.timeout // _MS,
        lease_ms=(job_type.lease or nothing) // _MS,
        result_ttl_s=_result_ttl_s(job_type),
        dedup_ms=(job_type.dedup_window or nothing) // _MS,
        drain_sla_ms=(job_type.drain_sla or nothing) // _MS,
    )


def _result_ttl_s(job_type: JobType) -> int:
    """For how long a finished job is kept: at least as long as its key stands for it."""
    usual = DEFAULT_RESULT_TTL if job_type.result_ttl is None else job_type.result_ttl
    return max(1, math.ceil(max(usual, job_type.dedup_window or timedelta(0)).total_seconds()))
