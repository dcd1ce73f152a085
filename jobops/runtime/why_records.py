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
    DROPPED = "dropped"
    DEAD = "dead"
    COALESCED = "coalesced"
    REPLAY_OF = "replay_of"
    UNKNOWN_STATE = "unknown_state"


UNTIL_WORDS = {
    Kind.RUNNING: "lease renewed until",
    Kind.OUTBOX_HELD: "next try",
    Kind.OUTBOX_REFUSED: "next try",
    Kind.BACKING_OFF: "due",
    Kind.POSTPONED: "due",
    Kind.DELAYED: "due",
    Kind.DEAD: "to be drained by",
}
"""What is at the instant ``until`` of a reason; of the others it is over then."""
SINCE_WORDS = dict.fromkeys(
    (Kind.SUCCEEDED, Kind.DISCARDED, Kind.CANCELLED, Kind.DROPPED, Kind.DEAD, Kind.COALESCED), "at"
)
"""What is at the instant ``since`` of a reason that has happened; the others hold since then."""
MOST_HOLDERS = 20
"""So many of the jobs that hold a place are named."""

STRENGTH = {kind: place for place, kind in enumerate(Kind)}
OPEN_ENDED = frozenset(list(Kind)[: list(Kind).index(Kind.TENANT_CAP)])
"""Nobody can say when these are over."""


@dataclass(frozen=True, slots=True)
class Link:
    """What a reason leads to: ``kind`` is job, letter, tenant, resource, type (its limits) or all (the pause of
    everything, without an id)."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One of them. ``text``: a sentence for staff, without instants; those are beside it.

    ``by``: who did it, ``by_staff`` whether that is one of our own people, ``note``: what they gave as their reason.
    ``name``: the resource, job type, lane or job it speaks of. ``count``: how many, such as jobs before this one.
    ``holders``: the jobs that hold what it needs, at most ``MOST_HOLDERS``; ``more``: how many others.
    ``times_out_at``: when a running job is killed at the latest.
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
    times_out_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Help:
    """Something that would help. ``action``: the word for it that scripts rely on; ``what``: the same in a few words;
    ``command``: what to type, empty where no command does it; ``link``: the page where it is done."""

    action: str
    what: str
    command: str = ""
    link: Link | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """The answer. ``headline``: the strongest reason. ``expected_start``: None: not known, or it has started;
    ``estimate`` says how it was estimated or why it cannot be. ``helps``: what would help, the likeliest first."""

    id: str
    state: str
    headline: str
    reasons: tuple[Reason, ...]
    expected_start: datetime | None
    estimate: str
    helps: tuple[Help, ...]
    job: JobView
    read_at: datetime

    @property
    def actions(self) -> tuple[str, ...]:
        """The words for what would help, each once."""
        return tuple(dict.fromkeys(each.action for each in self.helps))


def at(ms: float) -> datetime | None:
    """An instant of Redis's clock; None for 0 and for what is none."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms > 0 else None
    except (ValueError, OverflowError, OSError):
        return None
