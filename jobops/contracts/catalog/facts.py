"""What the catalog is told by those who know: how the installation is set up, and what was measured while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

LEAST_RUNS = 20
"""Of fewer runs nothing is said about the slowest hundredth."""


@dataclass(frozen=True, slots=True)
class RunTimes:
    """How long a job type's runs took. ``average_s`` moves with each run; the rest covers ``over_s`` seconds.

    ``p99_s``: 99 of 100 runs took no longer, rounded up to a power of two milliseconds; None below ``LEAST_RUNS``.
    """

    runs: int = 0
    average_s: float | None = None
    p99_s: float | None = None
    over_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that is watched. ``who``: who answers when it passes its threshold."""

    name: str
    threshold: str
    seen_at: str
    who: str


@dataclass(frozen=True, slots=True)
class Installation:
    """What the settings and the code say. Durations in seconds.

    ``lanes``: lane → share. ``duties``: what the leading scheduler does, and how often. ``signals``: what is watched.
    ``unimportable``: modules of job types that could not be imported. ``free_releases``: how often a stop may give a
    job back without an attempt being counted.
    """

    lanes: Mapping[str, float]
    lease_s: float
    heartbeat_s: float
    grace_s: float
    drain_timeout_s: float
    payload_limit: int
    default_owner: str
    default_sla_s: float
    default_cap: int | None
    most_slots: int
    free_releases: int
    leader_lock_s: float
    promote_every_s: float
    version: str = ""
    database: str = ""
    duties: tuple[tuple[str, float], ...] = ()
    signals: tuple[Signal, ...] = ()
    unimportable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TenantCounts:
    """Tenants by the limits they have. ``lightest``: the smallest weight; None without a tenant."""

    count: int = 0
    uncapped: int = 0
    without_depth_limit: int = 0
    lightest: float | None = None


@dataclass(frozen=True, slots=True)
class Live:
    """What was measured at one instant. ``served``: lanes that a living worker serves. ``used``: the part of all slot
    time that jobs used lately, None when it cannot be told. ``redis``: its version and its settings by name."""

    at: datetime
    workers: int = 0
    slots: int = 0
    busy: int = 0
    served: frozenset[str] = frozenset()
    used: float | None = None
    waiting: Mapping[str, int] = field(default_factory=dict)
    running: Mapping[str, int] = field(default_factory=dict)
    delayed: int = 0
    redis: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measured:
    """All that only the running system knows. ``live`` None: Redis did not answer or was not asked, as ``missing``
    says; ``tenants`` None: the database likewise. ``changed_limits``: gate → what operators put in place of the
    declared limit, in words."""

    run_times: Mapping[str, RunTimes] = field(default_factory=dict)
    live: Live | None = None
    tenants: TenantCounts | None = None
    missing: str = ""
    changed_limits: Mapping[str, str] = field(default_factory=dict)
