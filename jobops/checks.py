"""System checks of the contracts: ``manage.py check`` names each fault, with a hint.

jobops.E001 no owner · E002 no drain SLA · E003 neither idempotent nor guard · E004 time-out unset ·
E005 backoff without a cap · E006 two types of one name · E007 an alias that hides a name · E008 a module that
cannot be imported · E009 a value that cannot be used · E010 a lane that is not configured ·
E011 a lease of less than two heartbeats · E012 two contracts that declare different limits of one resource ·
E013 a limit that contradicts the rest of its contract.

jobops.W001 a reason for idempotency that gives none · W003 a name that depends on how the module is started ·
W004 waits that are longer than the drain SLA · W005 an owner that is no team (asked of the database, so only with
``manage.py check --database default``).

jobops.I001 each call must give a key.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.core.checks import CheckMessage, Error, Info, Tags, register
from django.core.checks import Warning as Suspicion
from django.db import DEFAULT_DB_ALIAS, DatabaseError

from dlq.owners.names import contract_owners
from dlq.ownership import contract_owner
from jobops.contracts import registry
from jobops.contracts.catalog.lines import SHORTEST_REASON
from jobops.contracts.config import config
from jobops.contracts.declared_limits import declared_limits
from jobops.contracts.discovery import import_faults
from jobops.contracts.durations import show
from jobops.contracts.faults import Kind
from jobops.contracts.job_type import JobType
from tenants.models import Team

IDS = {
    Kind.OWNER: "jobops.E001",
    Kind.DRAIN_SLA: "jobops.E002",
    Kind.IDEMPOTENCY: "jobops.E003",
    Kind.TIMEOUT: "jobops.E004",
    Kind.BACKOFF_CAP: "jobops.E005",
    Kind.VALUE: "jobops.E009",
}


@register("jobops")
def check_contracts(app_configs: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Every fault of every contract of this process, of the registry and of the discovery."""
    found: list[CheckMessage] = [*_imports(), *_conflicts(), *_limits()]
    for job_type in registry.all_types():
        found += _faults(job_type)
        found += _misfits(job_type)
        found += _contradictions(job_type)
        found += _suspicions(job_type)
    return found


@register("jobops", Tags.database)
def check_owners(app_configs: Any = None, databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
    """Owners that contracts name and no team is called: dead letters are theirs, and nobody is told."""
    if not databases or DEFAULT_DB_ALIAS not in databases:
        return []
    try:
        teams = set(Team.objects.values_list("name", flat=True))
    except DatabaseError:  # no tables yet: `migrate` asks too
        return []
    found: list[CheckMessage] = []
    for name in sorted(contract_owners() - teams):
        of = sorted(each.name for each in registry.all_types() if contract_owner(each.name) == name)
        more = f" and {len(of) - 1} more" if len(of) > 1 else ""
        found.append(
            Suspicion(
                f"owner {name!r} of {of[0]}{more} is no team: nobody is told of what dies",
                hint=f"`manage.py teams create {shlex.quote(name)}`, or Settings, Teams",
                obj=name,
                id="jobops.W005",
            )
        )
    return found


def _imports() -> Iterator[CheckMessage]:
    for fault in import_faults():
        yield Error(
            f"job module {fault.module} cannot be imported: {fault.error_class}: {fault.error}",
            hint=f"run `python -c 'import {fault.module}'` for the traceback, or take it out of JOBOPS_JOB_MODULES",
            obj=fault.module,
            id="jobops.E008",
        )


def _conflicts() -> Iterator[CheckMessage]:
    for conflict in registry.registry().conflicts():
        loser, holder = _where(conflict.loser), _where(conflict.holder)
        if conflict.kind == "name":
            message = f"two job types are called {conflict.name!r}: {holder} has it, {loser} cannot be enqueued or run"
            hint, id_ = "give one of them another name=", "jobops.E006"
        else:
            message = f"the alias {conflict.name!r} of {loser} hides a name: it is taken by {holder}"
            hint, id_ = "an alias is a name that no job type has any more: take it out of aliases=", "jobops.E007"
        yield Error(message, hint=hint, obj=conflict.loser.name, id=id_)


def _faults(job_type: JobType) -> Iterator[CheckMessage]:
    for fault in job_type.faults:
        message = f"{fault.argument} {fault.message} (in {_where(job_type)})"
        yield Error(message, hint=fault.hint, obj=job_type.name, id=IDS[fault.kind])


def _limits() -> Iterator[CheckMessage]:
    for declared in declared_limits(registry.all_types()).values():
        if declared.clash:
            yield Error(
                f"resource {declared.gate!r} has different limits: {declared.clash}; the tighter one holds until then",
                hint="give the same concurrency= and rate= to all that name it, or to one of them",
                obj=declared.gate,
                id="jobops.E012",
            )


def _misfits(job_type: JobType) -> Iterator[CheckMessage]:
    lanes, heartbeat = config().lanes, config().heartbeat
    if job_type.lane and job_type.lane not in lanes:
        yield Error(
            f"lane {job_type.lane!r} is not configured (in {_where(job_type)})",
            hint=f"the lanes are {', '.join(lanes)}; see JOBOPS_LANES",
            obj=job_type.name,
            id="jobops.E010",
        )
    if job_type.lease is not None and job_type.lease < 2 * heartbeat:
        yield Error(
            f"lease {show(job_type.lease)} is less than two heartbeats (in {_where(job_type)})",
            hint=f"leases are renewed every {show(heartbeat)}: give at least {show(2 * heartbeat)}, or none",
            obj=job_type.name,
            id="jobops.E011",
        )


def _contradictions(job_type: JobType) -> Iterator[CheckMessage]:
    """Arguments that are good each, and make no sense together."""
    where = _where(job_type)
    if job_type.on_unknown == "dead" and job_type.guard is None:
        yield Error(
            f'on_unknown="dead" is about guarded runs that were cut off, and there is no guard (in {where})',
            hint="give a guard= from the arguments to a key, or take on_unknown= out",
            obj=job_type.name,
            id="jobops.E013",
        )
    window, ttl = job_type.dedup_window, job_type.result_ttl
    if window is not None and ttl is not None and ttl < window:
        yield Error(
            f"result_ttl {show(ttl)} is shorter than dedup_window {show(window)}, for which its key stands for the "
            f"finished job (in {where})",
            hint=f"give a result_ttl= of {show(window)} or more, or none",
            obj=job_type.name,
            id="jobops.E013",
        )
    if job_type.on_full == "drop_oldest":
        yield Info(
            f'on_full="drop_oldest" goes by key, and a call without one is refused (in {where})',
            hint="give each call one: using(key=…)",
            obj=job_type.name,
            id="jobops.I001",
        )


def _suspicions(job_type: JobType) -> Iterator[CheckMessage]:
    where = _where(job_type)
    if job_type.idempotent and len(job_type.idempotent) < SHORTEST_REASON:
        yield Suspicion(
            f"idempotent={job_type.idempotent!r} is no reason (in {where})",
            hint='say why a second run is safe: "upserts by invoice id"',
            obj=job_type.name,
            id="jobops.W001",
        )
    if job_type.name.startswith("__main__."):
        yield Suspicion(
            f"the name depends on how its module is started (in {where})",
            hint="give a name=, or move the job to a module that workers import",
            obj=job_type.name,
            id="jobops.W003",
        )
    longest = timedelta(seconds=job_type.backoff.ceiling(job_type.max_attempts))
    if job_type.drain_sla is not None and longest > job_type.drain_sla:
        yield Suspicion(
            f"may wait {show(longest)} between two attempts, longer than its drain SLA of "
            f"{show(job_type.drain_sla)} (in {where})",
            hint="lower the backoff's cap, or give its owner more time",
            obj=job_type.name,
            id="jobops.W004",
        )


def _where(job_type: JobType) -> str:
    func = job_type.func
    return f"{getattr(func, '__module__', '?')}.{getattr(func, '__qualname__', type(func).__name__)}"
