"""One job type of the registry as the catalog shows it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from jobops.contracts.catalog.classifier import classifier_of
from jobops.contracts.catalog.design import JobDesign
from jobops.contracts.catalog.facts import Installation, RunTimes
from jobops.contracts.catalog.words import NOT_BUILT, one_line
from jobops.contracts.job_type import JobType

TRIGGER = f"enqueued by code; schedules: {NOT_BUILT}"


def job_design(job_type: JobType, run_times: RunTimes, installation: Installation) -> JobDesign:
    """What this type promises, with what is used in place of what it does not promise."""
    backoff = job_type.backoff
    sla = job_type.drain_sla
    return JobDesign(
        name=job_type.name,
        defined_in=where(job_type.func),
        aliases=job_type.aliases,
        trigger=TRIGGER,
        side_effects=side_effects(job_type.func),
        guard=where(job_type.guard) if job_type.guard is not None else "",
        idempotent=one_line(job_type.idempotent),
        lane=job_type.lane or next(iter(installation.lanes)),
        attempts=job_type.max_attempts,
        backoff=str(backoff),
        longest_wait_s=backoff.ceiling(job_type.max_attempts - 1) if job_type.max_attempts > 1 else 0.0,
        jitter=backoff.jitter == "full",
        classifier=classifier_of(job_type),
        lease_s=job_type.lease.total_seconds() if job_type.lease else installation.lease_s,
        timeout_s=job_type.timeout.total_seconds(),
        owner=job_type.owner or installation.default_owner,
        promises_owner=bool(job_type.owner),
        drain_sla_s=sla.total_seconds() if sla else installation.default_sla_s,
        promises_sla=sla is not None,
        redacted=tuple(sorted(job_type.redact)),
        run_times=run_times,
        faults=job_type.faults,
    )


def side_effects(func: Callable[..., Any]) -> str:
    """What a run does, in its author's words: the first paragraph of the docstring. Empty without one."""
    text = inspect.cleandoc(func.__doc__ or "") if isinstance(func.__doc__, str) else ""
    return one_line(text.split("\n\n")[0])


def where(func: Callable[..., Any]) -> str:
    """Module and name of a function."""
    name = getattr(func, "__qualname__", None) or type(func).__qualname__
    return f"{getattr(func, '__module__', None) or '?'}.{name}"
