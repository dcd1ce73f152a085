"""Which job this code runs in. Threads that a job starts do not inherit it; ``contextvars.copy_context()`` does."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any

from structlog.contextvars import bind_contextvars, reset_contextvars

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Saved:
    """What this run has saved of itself so far. ``state``: the newest checkpoint's JSON, empty before the first.
    ``progress``: told and not sent yet; ``progress_at``: when the last one was sent, in seconds of a local clock.
    ``results``: what was done ``once`` in a run without a lease, by key, as JSON.
    ``at_end``: to be called when the run is over."""

    state: bytes = b""
    progress: tuple[int, int] | None = None
    progress_at: float = -math.inf
    results: dict[str, str] = field(default_factory=dict)
    at_end: list[Callable[[], object]] = field(default_factory=list)


@dataclass(slots=True)
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


def _variables(*names: str) -> list[ContextVar[Any]]:
    """The context variables of these names, structlog's own: `bind_contextvars` would look each up for each job."""
    bound = bind_contextvars(**dict.fromkeys(names))
    variables = [bound[name].var for name in names]
    reset_contextvars(**bound)
    return variables


_running: ContextVar[RunningJob | None] = ContextVar("jobops_running_job", default=None)
_job_id, _tenant, _job_type, _attempt, _correlation_id = _variables(
    "job_id", "tenant", "job_type", "attempt", "correlation_id"
)


def running_job() -> RunningJob | None:
    """The job that this code runs in, or None."""
    return _running.get()


@contextmanager
def running(job: RunningJob) -> Iterator[RunningJob]:
    """Within it, ``job`` is the current job, and all log lines carry its id. Tests of a job's code use it too."""
    tokens = enter(job)
    try:
        yield job
    finally:
        leave(job)
        for token in tokens:
            token.var.reset(token)


def enter(job: RunningJob) -> Sequence[Token[Any]]:
    """``job`` is the current job of this context from now on, and all log lines carry its id; `leave` is to follow.
    Answers what resets each variable; whoever throws the context away need not."""
    return (
        _running.set(job),
        _job_id.set(job.id),
        _tenant.set(job.tenant),
        _job_type.set(job.job_type),
        _attempt.set(job.attempt),
        _correlation_id.set(job.correlation_id),
    )


def leave(job: RunningJob) -> None:
    """What is left to be done for a run, however it ended; what goes wrong with it is not the job's fault."""
    for call in job.saved.at_end:
        try:
            call()
        except BaseException:
            logger.exception("job %s: what was left to be done at its end failed", job.id)
