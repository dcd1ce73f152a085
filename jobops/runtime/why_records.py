"""Why a job is where it is: what people read, on the page and from the command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from jobops.engine.records import JobView
from jobops.engine.why_facts import Holder


class Kind(StrEnum):
    """What a reason is about. In the order of strength: what only a person ends, what only a deployment ends, what
    other jobs end, what time ends, and then how a job is on its way, runs or has ended."""

    PAUSED = "paused"
    TENANT_PAUSED = "tenant_paused"
    TYPE_PAUSED = "type_paused"
    RESOURCE_PAUSED = "resource_paused"
    TENANT_GONE = "tenant_gone"
    OUTBOX_PARKED = "outbox_parked"
    LANE_UNKNOWN = "lane_unknown"
    NO_WORKER = "no_worker"
    TYPE_UNKNOWN = "type_unknown"
    NO_MOVER = "no_mover"
    RESOURCE_UNKNOWN = "resource_unknown"
    REDIS_AWAY = "redis_away"
    TENANT_CAP = "tenant_cap"
    LANE_CAP = "lane_cap"
    RESOURCE_FULL = "resource_full"
    TYPE_FULL = "type_full"
    BRAKED = "braked"
    RESOURCE_RATE = "resource_rate"
    TYPE_RATE = "type_rate"
    TENANT_RATE = "tenant_rate"
    OUTBOX_HELD = "outbox_held"
    OUTBOX_REFUSED = "outbox_refused"
    OUTBOX = "outbox"
    BACKING_OFF = "backing_off"
    POSTPONED = "postponed"
    DELAYED = "delayed"
    BEHIND_AT_GATE = "behind_at_gate"
    BEHIND = "behind"
    SLOTS_BUSY = "slots_busy"
    NEXT = "next"
    STOPPING = "stopping"
    LEASE_LOST = "lease_lost"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    DEAD = "dead"
    COALESCED = "coalesced"
    REPLAY_OF = "replay_of"
    UNKNOWN_STATE = "unknown_state"


STRENGTH = {kind: place for place, kind in enumerate(Kind)}
OPEN_ENDED = frozenset(list(Kind)[: list(Kind).index(Kind.TENANT_CAP)])
"""Nobody can say when these are over."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a reason leads to: ``kind`` is job, letter, tenant or resource."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One of them. ``text``: a sentence for staff, without instants; those are beside it.

    ``by``: who did it, ``by_staff`` whether that is one of our own people, ``note``: what they gave as their reason.
    ``name``: the resource, job type, lane or job it speaks of. ``count``: how many, such as jobs before this one.
    ``holders``: the jobs that hold what it needs, at most 20; ``more``: how many others.
    """

    kind: Kind
    text: str
    until: datetime | None = None
    since: datetime | None = None
    by: str = ""
    by_staff: bool = True
    note: str = ""
    name: str = ""
    count: int | None = None
    holders: Sequence[Holder] = ()
    more: int = 0
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The answer. ``headline``: the strongest reason. ``expected_start``: None: not known, or it has started;
    ``estimate`` says how it was estimated or why it cannot be. ``actions``: what would help, the likeliest first."""

    id: str
    state: str
    headline: str
    reasons: tuple[Reason, ...]
    expected_start: datetime | None
    estimate: str
    actions: tuple[str, ...]
    job: JobView
    read_at: datetime


def at(ms: float) -> datetime | None:
    """An instant of Redis's clock; None for 0 and for what is none."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
