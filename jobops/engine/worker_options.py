"""How a worker is to behave, and what is plugged into it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from jobops.engine.payload import DEFAULT_LIMIT
from jobops.engine.records import ClaimedJob, Outcome
from jobops.engine.timeouts import SoftTimeout

MAX_PROCESSES = 256
MAX_GRACE_S = 10.0


class Runner(Protocol):
    """Runs one job in the slot's process and says how it ended."""

    def run(self, job: ClaimedJob, alarm: SoftTimeout) -> Outcome:
        """Runs `job`, the user's function under `with alarm(seconds)`. Every end, also an error or a time-out, is
        an `Outcome`; what it raises nevertheless counts as the job's error."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called by the worker so that what is above it keeps its connections right.

    ``before_fork`` in the supervisor, ``after_fork`` in each slot, ``before_job`` and ``after_job`` around each job.
    What the latter two raise is logged and costs no job its outcome; the slot is replaced then.
    """

    before_fork: Callable[[], object] | None = None
    after_fork: Callable[[], object] | None = None
    before_job: Callable[[], object] | None = None
    after_job: Callable[[], object] | None = None


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """A worker's settings. Raises ValueError with the field's name for a value that cannot work.

    ``lanes``: what it serves. ``burst``: end when nothing is runnable. ``drain_timeout_s``: how long running jobs may
    take after a stop signal. ``max_jobs``, ``max_memory_mib``: a slot is replaced after so many jobs, or above so much
    resident memory, looked at between jobs. ``heartbeat_s``: between renewals. ``lease_s``: the usual lease.
    ``grace_s``: from a job's time-out to its kill. ``block_ms``: the longest an idle slot sleeps.
    ``result_limit``: bytes of a result; a larger one is not kept. ``job_types``: names and aliases of those that the
    code knows, for people who ask why a job does not run; empty: not told.
    """

    lanes: tuple[str, ...]
    processes: int = 1
    burst: bool = False
    drain_timeout_s: float = 30.0
    max_jobs: int | None = None
    max_memory_mib: int | None = None
    heartbeat_s: float = 5.0
    lease_s: float = 30.0
    grace_s: float = 2.0
    block_ms: int = 1000
    result_limit: int = DEFAULT_LIMIT
    hooks: Hooks = field(default_factory=Hooks)
    job_types: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.lanes:
            raise ValueError("lanes: name at least one")
        if not 1 <= self.processes <= MAX_PROCESSES:
            raise ValueError(f"processes: from 1 to {MAX_PROCESSES}, not {self.processes}")
        if not (self.drain_timeout_s >= 0 and math.isfinite(self.drain_timeout_s)):
            raise ValueError(f"drain_timeout: seconds, 0 or more, not {self.drain_timeout_s}")
        for name in ("max_jobs", "max_memory_mib"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}: 1 or more, not {value}")
        if not 0 < self.heartbeat_s <= self.lease_s / 2:
            raise ValueError(f"heartbeat: above 0 and at most half of the lease ({self.lease_s:g} s)")
        if not 0 <= self.grace_s <= MAX_GRACE_S:
            raise ValueError(f"grace: from 0 to {MAX_GRACE_S:g} seconds, not {self.grace_s}")
