"""Which job this code runs in. Threads that a job starts do not inherit it; ``contextvars.copy_context()`` does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from structlog.contextvars import bound_contextvars


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


_running: ContextVar[RunningJob | None] = ContextVar("jobops_running_job", default=None)


def running_job() -> RunningJob | None:
    """The job that this code runs in, or None."""
    return _running.get()


@contextmanager
def running(job: RunningJob) -> Iterator[RunningJob]:
    """Within it, ``job`` is the current job, and all log lines carry its id. Tests of a job's code use it too."""
    token = _running.set(job)
    try:
        with bound_contextvars(
            job_id=job.id,
            tenant=job.tenant,
            job_type=job.job_type,
            attempt=job.attempt,
            correlation_id=job.correlation_id,
        ):
            yield job
    finally:
        _running.reset(token)
