"""Which job this code runs in. Threads that a job starts do not inherit it; ``contextvars.copy_context()`` does."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from structlog.contextvars import bind_contextvars, reset_contextvars

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Saved:
    """What this run has saved of itself so far. ``state``: the newest checkpoint's JSON, empty before the first.
    ``progress``: told and not sent yet; ``progress_at``: when the last one was sent, in seconds of a local clock.
    ``begun``: keys of ``once`` whose block is open; ``results``: those done in a run without a lease, as JSON.
    ``at_end``: to be called when the run is over."""

    state: bytes = b""
    progress: tuple[int, int] | None = None
    progress_at: float = -math.inf
    begun: set[str] = field(default_factory=set)
    results: dict[str, str] = field(default_factory=dict)
    at_end: list[Callable[[], object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """The job that runs: ``attempt`` counts from 1, ``correlation_id`` is shared by the jobs of one chain.

    ``tenant_uid``: whose job it is; the tenant's slug may be another customer's by now. Empty: not known.
    ``token``: of the lease that it runs under; empty: it runs under none, as in a test. ``checkpoint``: the JSON that
    an attempt before saved last; empty: none.
    """

    id: str
    tenant: str
    lane: str
    job_type: str
    attempt: int
    max_attempts: int
    correlation_id: str
    tenant_uid: str = ""
    token: str = ""
    resource: str = ""
    checkpoint: bytes = b""
    enqueued_at_ms: int = 0
    saved: Saved = field(default_factory=Saved, compare=False, repr=False)


_running: ContextVar[RunningJob | None] = ContextVar("jobops_running_job", default=None)


def running_job() -> RunningJob | None:
    """The job that this code runs in, or None."""
    return _running.get()


@contextmanager
def running(job: RunningJob) -> Iterator[RunningJob]:
    """Within it, ``job`` is the current job, and all log lines carry its id. Tests of a job's code use it too."""
    token = _running.set(job)
    # For every job: not `bound_contextvars`, which reads all variables of the context first.
    bound = bind_contextvars(
        job_id=job.id,
        tenant=job.tenant,
        job_type=job.job_type,
        attempt=job.attempt,
        correlation_id=job.correlation_id,
    )
    try:
        yield job
    finally:
        _end(job)
        reset_contextvars(**bound)
        _running.reset(token)


def _end(job: RunningJob) -> None:
    """What is left to be done for a run, however it ended; what goes wrong with it is not the job's fault."""
    for call in job.saved.at_end:
        try:
            call()
        except BaseException:
            logger.exception("job %s: what was left to be done at its end failed", job.id)
