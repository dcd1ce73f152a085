"""What the settings and the code of this installation say to the catalog; neither Redis nor the database is asked."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import metadata

from django.conf import settings
from django.db import connection

from dlq.ownership import DEFAULT_DRAIN_SLA
from jobops.alerts.signals import SIGNALS, YES_OR_NO
from jobops.contracts.catalog.facts import Installation, Signal
from jobops.contracts.catalog.words import span
from jobops.contracts.discovery import import_faults
from jobops.engine.registrations import LOST_AFTER
from jobops.engine.worker_options import MAX_PROCESSES, WorkerOptions
from jobops.metrics.condition import (
    FLOOD_DEPTH,
    LATE_S,
    LATE_URGENT_S,
    RETRY_LIMIT,
    RETRY_LIMIT_OF_ALL,
    RETRY_STARTS,
)
from jobops.metrics.rows import WINDOW_MINUTES
from jobops.scheduling.clockwork import TICK_S
from jobops.scheduling.scheduler import LOCK_TTL_S
from jobops.steward.duties import duties
from tenants.models import Tenant

FREE_RELEASES = 20
"""As in ``engine/lua/include/finish.lua``."""
TOLD = "the team that it concerns"
_DATABASES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_WORKER = {field.name: field.default for field in dataclasses.fields(WorkerOptions)}


def installation() -> Installation:
    """This installation, as its settings and its code are."""
    return Installation(
        lanes=dict(settings.JOBOPS_LANES),
        lease_s=float(settings.JOBOPS_LEASE_SECONDS),
        heartbeat_s=float(settings.JOBOPS_HEARTBEAT_SECONDS),
        grace_s=_usual("grace_s"),
        drain_timeout_s=_usual("drain_timeout_s"),
        payload_limit=settings.JOBOPS_PAYLOAD_LIMIT,
        default_owner=settings.JOBOPS_DEFAULT_OWNER,
        default_sla_s=DEFAULT_DRAIN_SLA.total_seconds(),
        default_cap=Tenant._meta.get_field("cap").default,
        most_slots=MAX_PROCESSES,
        free_releases=FREE_RELEASES,
        leader_lock_s=LOCK_TTL_S,
        promote_every_s=TICK_S,
        version=_version(),
        database=_DATABASES.get(connection.vendor, connection.vendor),
        duties=tuple((duty.name, duty.every_s) for duty in duties()),
        signals=_signals(),
        unimportable=tuple(fault.module for fault in import_faults()),
    )


def _signals() -> tuple[Signal, ...]:
    """Each threshold is the one that the pages use."""
    team = settings.JOBOPS_DEFAULT_OWNER
    urgent, *others = settings.JOBOPS_LANES
    limits = f"over {RETRY_LIMIT_OF_ALL:.0%} of all starts, or {RETRY_LIMIT:.0%} of a tenant's"
    flood = f"{FLOOD_DEPTH:,} or more, and more than ended in {WINDOW_MINUTES} min"
    silent = f"{LOST_AFTER} heartbeats missed ({span(LOST_AFTER * settings.JOBOPS_HEARTBEAT_SECONDS)})"
    signals = [Signal(f"Oldest waiting job of {urgent}", f"over {span(LATE_URGENT_S)}", "overview", team)]
    if others:
        signals.append(Signal(f"Oldest waiting job of {', '.join(others)}", f"over {span(LATE_S)}", "overview", team))
    return (
        *signals,
        Signal("Waiting jobs of one tenant", flood, "overview", team),
        Signal("Retries", f"{limits}, from {RETRY_STARTS} starts on", "overview", team),
        Signal("A tenant at its cap while its jobs wait", "any", "overview", team),
        Signal("A worker that is silent", silent, "/workers/", team),
        Signal("No worker while jobs wait", "any", "overview", team),
        Signal("Jobs in a lane that no living worker serves", "any", "overview, `manage.py queues`", team),
        Signal("Jobs in a queue or lane that nothing here knows", "any", "overview, `manage.py queues`", team),
        Signal("A pause of everything, a job type or a resource", "any", "overview, /limits/", team),
        Signal("A brake on a resource", "any", "overview, /limits/", team),
        Signal("Jobs for a resource that no contract names", "any", "/limits/, log of the scheduler", team),
        Signal("Redis or the database away", "one failed try", "/readyz", team),
        Signal("Redis flushed or restored", "any", "log of the scheduler", team),
        Signal("Outbox rows that are parked", "any", "overview, `manage.py jobs list --state outbox`", team),
        Signal("Memory of Redis", f"over {settings.JOBOPS_REDIS_MEMORY_SHARE:.0%} of its limit", "overview", team),
        *_alerts(),
    )


def _alerts() -> Iterator[Signal]:
    """What is told by itself, at the thresholds that hold without a rule."""
    for signal in SIGNALS.values():
        at = "none without a rule"
        if signal.unit == YES_OR_NO:
            at = "as soon as it is so"
        elif signal.threshold is not None:
            at = f"{'under' if signal.under else 'over'} {signal.threshold:,g} {signal.unit}"
        held = f" for {span(signal.for_s)}" if signal.for_s and signal.threshold is not None else ""
        yield Signal(f"Alert: {signal.title[0].lower()}{signal.title[1:]}", f"{at}{held}", "/alerts/", TOLD)


def _usual(name: str) -> float:
    value = _WORKER[name]
    assert isinstance(value, float)
    return value


def _version() -> str:
    try:
        return metadata.version("jobops")
    except metadata.PackageNotFoundError:
        return ""
