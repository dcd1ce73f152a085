"""One job type of the registry as the catalog shows it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from jobops.contracts.catalog.classifier import checkpoints_in_code, classifier_of
from jobops.contracts.catalog.design import JobDesign, JobLimits
from jobops.contracts.catalog.facts import Installation, RunTimes
from jobops.contracts.catalog.words import NOT_BUILT, one_line
from jobops.contracts.declared_limits import Declared, gate_of
from jobops.contracts.job_type import JobType
from jobops.contracts.promised import promised_by
from jobops.engine.gates import type_gate

TRIGGER = f"enqueued by code; schedules: {NOT_BUILT}"


def job_design(job_type: JobType, run_times: RunTimes, installation: Installation, limits: JobLimits) -> JobDesign:
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
        checkpoints=checkpoints_in_code(job_type.func),
        limits=limits,
        on_unknown=job_type.on_unknown,
        dedup_window_s=job_type.dedup_window.total_seconds() if job_type.dedup_window else None,
        on_full=job_type.on_full,
        result_ttl_s=promised_by(job_type).result_ttl_s,
        promises_result_ttl=job_type.result_ttl is not None,
        keep_results=job_type.keep_results,
        faults=job_type.faults,
    )


def job_limits(job_type: JobType, declared: Mapping[str, Declared], changed: Mapping[str, str]) -> JobLimits:
    """What limits this type's starts. ``changed``: gate → what operators put in place of what is declared."""
    gate = gate_of(job_type)
    found = declared.get(gate, Declared(gate))
    return JobLimits(
        resource=job_type.resource,
        declared=str(found.limit) if found.limit else "",
        concurrency=found.limit.concurrency,
        rate=str(found.limit.rate) if found.limit.rate is not None else "",
        by=found.by,
        changed="; ".join(
            f"{changed[each]}{' for the job type alone' if each != gate else ''}"
            for each in dict.fromkeys((gate, type_gate(job_type.name)))
            if each in changed
        ),
    )


def side_effects(func: Callable[..., Any]) -> str:
    """What a run does, in its author's words: the first paragraph of the docstring. Empty without one."""
    text = inspect.cleandoc(func.__doc__ or "") if isinstance(func.__doc__, str) else ""
    return one_line(text.split("\n\n")[0])


def where(func: Callable[..., Any]) -> str:
    """Module and name of a function."""
    name = getattr(func, "__qualname__", None) or type(func).__qualname__
    return f"{getattr(func, '__module__', None) or '?'}.{name}"
