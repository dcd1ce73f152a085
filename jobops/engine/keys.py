"""Every Redis key, one function each. Ours stand under one prefix, RQ's own beside them in RQ's own format.

The Lua commands build the same names from the prefix (``lua/include/keys.lua``); a test holds the two together.
"""

from __future__ import annotations

RQ_QUEUES = "rq:queues"
RQ_SCHEDULED = "rq:scheduler:scheduled_jobs"


def rq_queue(queue: str) -> str:
    """A queue's list of waiting job ids, oldest first."""
    return f"rq:queue:{queue}"


def rq_job(job_id: str) -> str:
    """A job's hash, in RQ's format, with the engine's own fields beside (``jo_*``, and ``attempt:<n>`` for each
    attempt but one that ended the job well: of that the record itself tells all)."""
    return f"rq:job:{job_id}"


def rq_wip(queue: str) -> str:
    """RQ's registry of started jobs, members ``job:token``. Our scores are ``+inf``: RQ's clean-up never takes them."""
    return f"rq:wip:{queue}"


def rq_finished(queue: str) -> str:
    """RQ's registry of finished jobs, scored by when they expire."""
    return f"rq:finished:{queue}"


def rq_failed(queue: str) -> str:
    """RQ's registry of failed jobs, scored by when they expire."""
    return f"rq:failed:{queue}"


def rq_canceled(queue: str) -> str:
    """RQ's registry of cancelled jobs, scored by when they expire."""
    return f"rq:canceled:{queue}"


def average_field(job_type: str) -> str:
    """Of the cell's hash: the moving average of this job type's run time (ms)."""
    return f"average:{job_type}"


def split_queue(queue: str) -> tuple[str, str]:
    """Tenant and lane of a queue's name. Raises ValueError when it is not ``<tenant>.<lane>``."""
    tenant, dot, lane = queue.rpartition(".")
    if not (tenant and dot and lane):
        raise ValueError(f"queue: {queue!r} is not <tenant>.<lane>")
    return tenant, lane


class Keys:
    """Names of the engine's own keys under a prefix."""

    __slots__ = ("prefix",)

    def __init__(self, prefix: str = "jobops") -> None:
        self.prefix = prefix

    def ring(self, lane: str) -> str:
        """zset: tenants that may run in this lane now, by virtual time."""
        return f"{self.prefix}:ring:{lane}"

    def lanes(self) -> str:
        """hash: lane → share, as last pushed from the settings."""
        return f"{self.prefix}:lanes"

    def cell(self) -> str:
        """hash: paused, lanes' virtual now, ticks of promotion and rescue; the first instant at which something that is
        parked opens, and whether there are gates of job types; the lanes' names, one a line.

        By lane: share, vtime (us), vnow (the ring's virtual time), vmax (its largest ever charged) and level, as
        ``vtime:bulk``. By job type: its moving average of run time (ms), as `average_field` names it."""
        return f"{self.prefix}:cell"

    def epoch(self) -> str:
        """string: the cell's random name; another one than before tells of a flush or a restore."""
        return f"{self.prefix}:cell:epoch"

    def mark(self) -> str:
        """string: the newest of the marks that the database notes down too; one behind it tells of a restore."""
        return f"{self.prefix}:cell:mark"

    def tenant(self, slug: str) -> str:
        """hash: weight, cap, cap:<lane>, depth_limit, paused, intake_closed, rate (count), rate_per (ms), tokens,
        tokens_at (us), held (1: some of it waits at gates), and vt:<lane>, its virtual times (us)."""
        return f"{self.prefix}:tenant:{slug}"

    def gone(self, slug: str) -> str:
        """string, 7 days: this tenant was deleted; its jobs that still ran have nowhere to come back to."""
        return f"{self.prefix}:gone:{slug}"

    def inflight(self, slug: str) -> str:
        """zset: the tenant's jobs under lease → lease expiry. In flight is its ZCARD, never a counter."""
        return f"{self.prefix}:inflight:{slug}"

    def busy(self) -> str:
        """set: tenants with jobs under lease; pages and sampling touch only these and the active ones."""
        return f"{self.prefix}:busy"

    def active(self, lane: str) -> str:
        """zset: tenants with waiting work in the lane → when their oldest waiting job became runnable."""
        return f"{self.prefix}:active:{lane}"

    def leases(self) -> str:
        """zset: job id → lease expiry."""
        return f"{self.prefix}:leases"

    def lease(self, job_id: str) -> str:
        """hash: token, worker, tenant, lane, type, started (us), charged (ms), attempt; terms: its length and the job's
        time-out (ms), the levels of its lane and of the lanes when it was charged, and the slot. Where it is so:
        replay_of, gates (one a line), stop and stop_note."""
        return f"{self.prefix}:lease:{job_id}"

    def slot(self, slot: str) -> str:
        """hash: last request number and its answer, current lease, closed."""
        return f"{self.prefix}:slot:{slot}"

    def idle(self, lane: str) -> str:
        """zset: slots waiting for this lane → until when they wait."""
        return f"{self.prefix}:idle:{lane}"

    def wake(self, lane: str) -> str:
        """list: wake-up tokens; at most as many as waiting slots."""
        return f"{self.prefix}:wake:{lane}"

    def dead(self) -> str:
        """zset: ``job:attempt`` of deaths not yet taken into the database → when."""
        return f"{self.prefix}:dead"

    def outcomes(self) -> str:
        """zset: ends of watched jobs (other than deaths) not yet taken into the database, as JSON → when."""
        return f"{self.prefix}:outcomes"

    def outcome_of(self) -> str:
        """hash: watched job → its newest member of the outcomes, while it stands there."""
        return f"{self.prefix}:outcomes:of"

    def pushed(self, job_id: str) -> str:
        """string, 24 h: this id has been pushed; a second push is a no-op."""
        return f"{self.prefix}:pushed:{job_id}"

    def unique(self, tenant: str, job_type: str, key: str) -> str:
        """string: id of the live job with this key."""
        return f"{self.prefix}:key:{tenant}:{job_type}:{key}"

    def done(self, tenant: str, job_type: str, key: str) -> str:
        """string, for the dedup window: id of the job of this key that succeeded last, and its tenant's uid."""
        return f"{self.prefix}:done:{tenant}:{job_type}:{key}"

    def kept(self, tenant: str, job_type: str) -> str:
        """zset: the tenant's finished jobs of a type that keeps a number of them → when they ended."""
        return f"{self.prefix}:kept:{tenant}:{job_type}"

    def batches(self) -> str:
        """zset: batches of which something is to be told → when it happened last."""
        return f"{self.prefix}:batches"

    def batch(self, batch: str, what: str) -> str:
        """A batch's members: sets ``left`` (not ended yet), ``dead``, ``dropped`` (their letter was discarded) and
        ``withdrawn`` (cancelled before they came), hash ``ended`` (how → how many)."""
        return f"{self.prefix}:batch:{batch}:{what}"

    def gates(self) -> str:
        """set: every gate that there is: resources, and ``type:<job type>`` for types with limits or pauses."""
        return f"{self.prefix}:gates"

    def resource(self, gate: str) -> str:
        """hash: known, concurrency, rate (count), rate_per (ms), tokens, tokens_at (us), brake_until (ms), brake_at,
        brake_by (job), brake_error (what it said), paused."""
        return f"{self.prefix}:resource:{gate}"

    def inflight_resource(self, gate: str) -> str:
        """zset: jobs under lease that hold a place at the gate → lease expiry."""
        return f"{self.prefix}:inflight:resource:{gate}"

    def waiting(self, gate: str) -> str:
        """zset: jobs that wait for the gate → when they became runnable (ms)."""
        return f"{self.prefix}:waiting:{gate}"

    def held(self, tenant: str, lane: str) -> str:
        """zset: jobs of one queue that wait for any gate → when they became runnable (ms)."""
        return f"{self.prefix}:held:{tenant}.{lane}"

    def line(self, queue: str, gate: str) -> str:
        """zset: jobs of one queue that wait for one gate → when they became runnable (ms)."""
        return f"{self.prefix}:line:{queue}:{gate}"

    def lines(self, queue: str) -> str:
        """set: gates at which the queue has a line."""
        return f"{self.prefix}:lines:{queue}"

    def turns(self, gate: str) -> str:
        """zset: queues with a line at the gate whose tenants may run, as far as is known → virtual time of turn."""
        return f"{self.prefix}:turns:{gate}"

    def turned(self, gate: str) -> str:
        """zset: queues that left the turns → the virtual time at which they come in again at the earliest."""
        return f"{self.prefix}:turned:{gate}"

    def parked(self) -> str:
        """zset: ``tenant:<slug>`` and ``resource:<gate>`` that only time opens → that instant (ms)."""
        return f"{self.prefix}:parked"

    def aside(self, name: str) -> str:
        """Any kind, 7 days: what an outsider had put at the key ``name`` (without our prefix) of the gates."""
        return f"{self.prefix}:aside:{name}"

    def minute(self, minute: int, what: str) -> str:
        """hash, 15 min: one minute's counters by tenant (``what`` = tenant) or by type (``what`` = type)."""
        return f"{self.prefix}:minute:{minute}:{what}"

    def waits(self, lane: str) -> str:
        """list, 15 min: how long the lane's longest waiting job had waited, newest first, as ``<at ms>:<wait ms>``."""
        return f"{self.prefix}:waits:{lane}"

    def stops(self, supervisor: str) -> str:
        """hash, a day: job → token of the lease, for jobs of a supervisor's slots that somebody stops."""
        return f"{self.prefix}:stops:{supervisor}"

    def types(self, digest: str) -> str:
        """set, a day: the job types that workers of this digest know (all with the same code share one)."""
        return f"{self.prefix}:types:{digest}"

    def lock(self, name: str) -> str:
        """String with a time to live: the owner of a named lock."""
        return f"{self.prefix}:lock:{name}"
