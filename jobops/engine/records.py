"""What goes into and comes out of the engine: plain, frozen records.

Times are integers in milliseconds on Redis's clock, unless a name ends in ``_at`` (aware UTC datetimes)
or ``_s`` (seconds). Those that every job takes several of are named tuples, which are made five times as fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

from jobops.engine.rates import Rate

EnqueuedState = Literal["queued", "scheduled", "duplicate", "coalesced", "outbox"]
Cause = Literal["error", "timeout", "poison", "unresolvable", "worker_lost"]
OutcomeKind = Literal["succeeded", "failed", "discarded", "released", "postponed"]
SettledAs = Literal["succeeded", "retry", "dead", "discarded", "released", "postponed", "stopped", "stale"]
Cancelled = Literal["cancelled", "not_found", "started", "ended"]
Abandoned = Literal["none", "retry", "dead", "stopped"]
OnFull = Literal["refuse", "spill", "drop_oldest"]
OutcomeWord = Literal["succeeded", "discarded", "cancelled", "coalesced", "garbage"]
FateState = Literal["alive", "succeeded", "discarded", "cancelled", "dead", "missing"]


class NewJob(NamedTuple):
    """A job as it is enqueued. ``delay_ms`` counts from now; ``due_at_ms`` is an absolute epoch instant.

    ``replay_of``: the death (``job:attempt``) that this job is a replay of. A job with it is watched: its end is told
    in the outcomes, or in the dead intake. ``tenant_uid``: whose job it is by the tenant's lasting identity, for one
    that was asked for a while ago: another customer may have the slug by now. Empty: whoever has the slug.
    """

    id: str
    tenant: str
    lane: str
    job_type: str
    data: bytes
    max_attempts: int = 5
    timeout_ms: int = 30_000
    lease_ms: int = 30_000
    key: str = ""
    correlation_id: str = ""
    delay_ms: int = 0
    due_at_ms: int = 0
    front: bool = False
    result_ttl_s: int = 3_600
    replay_of: str = ""
    tenant_uid: str = ""
    resource: str = ""
    dedup_ms: int = 0
    on_full: OnFull = "refuse"
    keep: int = 0
    batch: str = ""
    checkpoint: bytes = b""

    @property
    def queue(self) -> str:
        """The RQ queue's name: ``<tenant>.<lane>``."""
        return f"{self.tenant}.{self.lane}"


class Enqueued(NamedTuple):
    """What became of an enqueue. ``duplicate``: this id was pushed before, nothing happened.
    ``coalesced``: a job with the same key is alive, or succeeded within its dedup window, and ``id`` is that job's.
    ``outbox``: it waits in the database."""

    id: str
    state: EnqueuedState


class ClaimedJob(NamedTuple):
    """A job under a lease: what a slot needs to run it and to settle it. ``claimed_at_ms``, as ``enqueued_at_ms``, on
    Redis's clock."""

    id: str
    token: str
    tenant: str
    lane: str
    queue: str
    job_type: str
    attempt: int
    max_attempts: int
    timeout_ms: int
    lease_ms: int
    data: bytes
    key: str
    correlation_id: str
    enqueued_at_ms: int
    releases: int
    tenant_uid: str = ""
    resource: str = ""
    checkpoint: bytes = b""
    claimed_at_ms: int = 0


class Claim(NamedTuple):
    """A claim's answer. Without a job: ask again at once if ``wait_ms`` is 0, else wait at most so long to be woken."""

    job: ClaimedJob | None
    wait_ms: int = 0


class Outcome(NamedTuple):
    """How an attempt ended, as its runner saw it. Whether a failure is retried or is the death is settled in Redis."""

    kind: OutcomeKind
    cause: str = ""
    result: bytes = b""
    error_class: str = ""
    error: str = ""
    traceback: str = ""
    delay_ms: int = 0

    @classmethod
    def succeeded(cls, result: bytes = b"null") -> Outcome:
        """It did its work; ``result`` is its return value as JSON, or empty if that is not kept."""
        return cls(kind="succeeded", result=result)

    @classmethod
    def failed(
        cls, cause: Cause, error_class: str = "", error: str = "", traceback: str = "", delay_ms: int = 0
    ) -> Outcome:
        """It did not. ``poison`` and ``unresolvable`` die at once; others are retried after ``delay_ms`` while
        attempts are left."""
        return cls(
            kind="failed", cause=cause, error_class=error_class, error=error, traceback=traceback, delay_ms=delay_ms
        )

    @classmethod
    def discarded(cls, error_class: str = "", error: str = "") -> Outcome:
        """The contract says that this error ends the job without a dead letter."""
        return cls(kind="discarded", error_class=error_class, error=error)

    @classmethod
    def released(cls) -> Outcome:
        """The worker gives it back unharmed: a graceful stop. The attempt is not counted (20 times at most)."""
        return cls(kind="released")

    @classmethod
    def postponed(
        cls,
        delay_ms: int,
        error_class: str = "",
        error: str = "",
        traceback: str = "",
        *,
        brake: bool = False,
        within_ms: int = 0,
    ) -> Outcome:
        """It could not do its work now, through no fault of its own: it comes again after ``delay_ms``, and the attempt
        is not counted; 100 times at most, and only for ``within_ms`` since the job could have run (0: for any time).
        Then it is an error. ``brake``: until it comes again nothing that needs its resource (or, without one, no job of
        its type) starts."""
        return cls(
            kind="postponed",
            cause="brake" if brake else "",
            result=str(within_ms).encode() if within_ms else b"",
            error_class=error_class,
            error=error,
            traceback=traceback,
            delay_ms=delay_ms,
        )


class Settled(NamedTuple):
    """A settle's answer; ``claim`` is there when the next job was asked for in the same call."""

    outcome: SettledAs
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class Rescued:
    """``held``: nothing was moved, as the engine was away too long to tell a dead worker from a cut-off one.
    ``more``: more leases than this batch had run out."""

    moved: int
    dead: int
    held: bool
    more: bool = False


@dataclass(frozen=True, slots=True)
class Promoted:
    """``wait_ms``: how long until the next delayed job is due, 0 when one is; None: nobody knows of one. ``skipped``:
    somebody else promoted a moment ago."""

    moved: int
    wait_ms: int | None
    skipped: bool


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What one queue's repair found: leaseless running jobs, a ring entry, an active entry."""

    recovered: int
    ring: int
    active: int


@dataclass(frozen=True, slots=True)
class Policy:
    """What the engine knows of a tenant. ``cap``, ``rate`` (of starts) and ``depth_limit`` None: no limit. An older
    ``version`` never overwrites a newer one. ``uid``: the tenant's lasting identity, as another customer may get its
    slug later."""

    slug: str
    weight: float = 1.0
    cap: int | None = 10
    lane_caps: Mapping[str, int] = field(default_factory=dict)
    depth_limit: int | None = None
    paused: bool = False
    intake_closed: bool = False
    version: int = 0
    uid: str = ""
    rate: Rate | None = None


@dataclass(frozen=True, slots=True)
class Death:
    """One entry of the dead intake. ``fields``: the job's hash, empty if it vanished."""

    member: str
    job_id: str
    attempt: int
    died_at_ms: int
    fields: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The end of a watched job that is no death. ``into``: the live job that a coalesced one became part of.
    ``garbage``: somebody else's member, in ``member`` as it is (bytes that are no UTF-8 as surrogate escapes)."""

    member: str
    id: str
    replay_of: str
    outcome: OutcomeWord
    attempt: int = 0
    error_class: str = ""
    error: str = ""
    into: str = ""
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a job. ``alive``: it waits, is delayed or runs. ``missing``: Redis knows nothing of it, as of one
    that was coalesced. ``pending``: its end is still to be taken from the outcomes or the dead intake."""

    state: FateState
    attempt: int = 0
    error_class: str = ""
    error: str = ""
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Everywhere that a job's id stands. ``status``: what its record says, empty without one. ``queue_count``: how
    often it stands in the queues ``in_queues``. ``lease``: in the index of leases; ``lease_hash``: has a lease's hash.
    ``dead``: its deaths that are not in the database yet. ``wip``: in RQ's registry of started jobs. ``waiting``: the
    gates in whose waiting room it stands; ``held``: counted among those of its queue that wait at gates; ``waits``: the
    gate that its record says it waits for."""

    id: str
    status: str
    tenant: str
    lane: str
    in_queues: tuple[str, ...]
    queue_count: int
    lease: bool
    lease_hash: bool
    delayed: bool
    dead: tuple[str, ...]
    inflight: bool
    wip: bool
    waiting: tuple[str, ...] = ()
    held: bool = False
    waits: str = ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One start of a job and how it ended (``outcome`` empty: it still runs)."""

    number: int
    worker: str
    started_at: datetime | None
    ended_at: datetime | None
    outcome: str
    error_class: str
    error: str


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as people see it. ``state`` is one of the design's words: queued, waiting, scheduled, started,
    succeeded, discarded, dead, cancelled. ``replay_of``: the death (``job:attempt``) that it is a replay of, or empty.
    ``progress``: done and total, if it tells. ``checkpoint``: the JSON that it goes on from; empty: none.
    ``waits_for``: the gate whose opening it waits for. ``resource``: what it needs. ``batch``: whose member it is."""

    id: str
    tenant: str
    lane: str
    queue: str
    job_type: str
    state: str
    attempts: int
    max_attempts: int
    created_at: datetime | None
    enqueued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    due_at: datetime | None
    worker: str
    result: bytes
    error_class: str
    error: str
    traceback: str
    reason: str
    key: str
    correlation_id: str
    data: bytes
    history: tuple[Attempt, ...] = ()
    tenant_uid: str = ""
    replay_of: str = ""
    progress: tuple[int, int] | None = None
    checkpoint: bytes = b""
    checkpoint_at: datetime | None = None
    waits_for: str = ""
    resource: str = ""
    batch: str = ""


@dataclass(frozen=True, slots=True)
class QueueView:
    """One queue now. ``depth``: all that wait, ``waiting`` of them at a gate. ``oldest_age_s``: since the oldest of
    them last became runnable; None when empty."""

    tenant: str
    lane: str
    depth: int
    oldest_age_s: float | None
    running: int
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Counters:
    """What happened to one tenant over some minutes. ``worker_ms``: worker time it used."""

    starts: int = 0
    retries: int = 0
    succeeded: int = 0
    dead: int = 0
    discarded: int = 0
    lost: int = 0
    worker_ms: int = 0
