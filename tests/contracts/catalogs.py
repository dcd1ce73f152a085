"""Catalogs for the tests: job types declared here, on an installation that is told here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from jobops import job
from jobops.contracts import registry
from jobops.contracts.catalog.design import Catalog, Line
from jobops.contracts.catalog.facts import Installation, Live, Measured, RunTimes, Signal, TenantCounts
from jobops.contracts.catalog.making import make_catalog
from jobops.contracts.job_type import JobType
from tests.contracts.samples import GOOD

SOUND: dict[str, Any] = {**GOOD, "name": "billing.send", "poison_on": "4xx", "lane": "bulk"}
"""A contract that breaks no line."""

INSTALLATION: dict[str, Any] = {
    "lanes": {"interactive": 4.0, "bulk": 1.0},
    "lease_s": 30.0,
    "heartbeat_s": 5.0,
    "grace_s": 2.0,
    "drain_timeout_s": 30.0,
    "payload_limit": 262_144,
    "default_owner": "operations",
    "default_sla_s": 86_400.0,
    "default_cap": 10,
    "most_slots": 256,
    "free_releases": 20,
    "leader_lock_s": 5.0,
    "promote_every_s": 0.05,
    "version": "1.2",
    "database": "SQLite",
    "duties": (("outbox relay", 0.5), ("dead intake", 0.5), ("policies", 1.0)),
    "signals": (Signal("Retries", "over 5%", "overview", "operations"),),
}


def declare(**contract: Any) -> JobType:
    """Register a job type with a sound contract, but for what is given."""

    @job(**{**SOUND, **contract})
    def send(invoice_id: int) -> None:
        """Sends an invoice.

        In detail.
        """

    return send.job_type


def catalog(measured: Measured | None = None, **installation: Any) -> Catalog:
    """The catalog of what is registered."""
    facts = Installation(**{**INSTALLATION, **installation})
    return make_catalog(registry.all_types(), facts, measured or Measured(missing="it was not asked for"))


def measured(run_times: Mapping[str, RunTimes] | None = None, **live: Any) -> Measured:
    """Numbers of a small system that runs."""
    values: dict[str, Any] = {
        "at": datetime(2026, 3, 12, 3, 14, tzinfo=UTC),
        "workers": 1,
        "slots": 2,
        "busy": 1,
        "served": frozenset({"interactive", "bulk"}),
        "used": 0.43,
        "waiting": {"bulk": 1204},
        "running": {"bulk": 1},
        "delayed": 7,
        "redis": {"version": "7.0.15", "appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"},
    }
    tenants = TenantCounts(count=8, uncapped=1, without_depth_limit=8, lightest=0.5)
    return Measured(run_times or {}, Live(**{**values, **live}), tenants)


def line(found: Catalog, key: str) -> Line:
    """One of its lines."""
    return next(each for each in found.lines if each.key == key)


def broken(found: Catalog) -> dict[str, list[str]]:
    """Who breaks which line."""
    return {each.key: [failure.subject for failure in each.failures] for each in found.lines if each.failures}
