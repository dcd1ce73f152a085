"""The pick order as a pure model: the reference that the Lua commands are tested against.

Start-time fair queueing (Goyal, Vin and Cheng, 1996) over worker time: a tenant's virtual time moves by worker
milliseconds / weight. It is charged the expected run time when a job starts and the difference to the real one when
it ends, so that who runs long pays long, whatever was expected. Two levels, each with the same rule: lanes by share,
then tenants within the lane by weight.

Whoever enters a ring enters at ``max(own, ring's)`` virtual time: a tenant that slept saved nothing up. A ring found
empty moves on to the largest virtual time charged in it: a tenant that was alone owes nobody. That levels the ring:
what was charged before is given back no more, or whoever overestimated its jobs would come out below all others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

DEFAULT_EXPECTED_MS = 100.0
AVERAGE_GAIN = 0.2


def virtual(ms: float, part: float) -> float:
    """Worker time as virtual time, ms: rounded to whole microseconds, as the engine keeps it."""
    return math.floor(ms * 1000 / part + 0.5) / 1000


def between(start: float, end: float) -> float:
    """From one instant to a later one, ms, as Redis's clock tells it: in whole microseconds."""
    return max(0, round(end * 1000) - round(start * 1000)) / 1000


@dataclass
class TenantModel:
    """One tenant: its policy, its virtual time per lane, its jobs in flight per lane."""

    weight: float = 1.0
    cap: int | None = None
    lane_caps: Mapping[str, int] = field(default_factory=dict)
    paused: bool = False
    vtime: dict[str, float] = field(default_factory=dict)
    running: dict[str, int] = field(default_factory=dict)

    def may_run(self, lane: str) -> bool:
        """May one more job of it start in this lane?"""
        if self.paused or (self.cap is not None and sum(self.running.values()) >= self.cap):
            return False
        return lane not in self.lane_caps or self.running.get(lane, 0) < self.lane_caps[lane]


@dataclass
class LaneModel:
    """One lane: its share and its ring (tenant → virtual time)."""

    share: float
    vtime: float = 0.0
    vnow: float = 0.0
    vmax: float = 0.0
    level: int = 0
    ring: dict[str, float] = field(default_factory=dict)


@dataclass
class JobModel:
    """A job that waits. ``runnable``: since when (ms). ``order`` and ``back``: its order among those that waited for a
    gate, and the gate that sent it back to its queue; `jobops.engine.gate_model` says more. ``started``: ever."""

    id: str
    job_type: str
    front: bool = False
    resource: str = ""
    runnable: float = 0.0
    order: float | None = None
    back: str = ""
    started: bool = False


@dataclass
class LeaseModel:
    """A job that runs: who pays, since when (ms), how much is charged so far, the gates at which it holds a place."""

    tenant: str
    lane: str
    job_type: str
    started: float
    charged: float
    level: int = 0
    lane_level: int = 0
    gates: tuple[str, ...] = ()


class FairModel:
    """Tenants, lanes, queues and leases, with the same operations as the engine. Times in milliseconds."""

    def __init__(self, lanes: Mapping[str, float]) -> None:
        self.lanes = {name: LaneModel(share) for name, share in lanes.items()}
        self.tenants: dict[str, TenantModel] = {}
        self.queues: dict[tuple[str, str], deque[JobModel]] = {}
        self.leases: dict[str, LeaseModel] = {}
        self.average: dict[str, float] = {}
        self.lane_vnow = 0.0
        self.lane_level = 0

    def set_policy(self, slug: str, now: float = 0.0, **policy: object) -> None:
        """Creates or changes a tenant; what may not run leaves the rings, what may enters."""
        tenant = self.tenants.setdefault(slug, TenantModel())
        for name, value in policy.items():
            setattr(tenant, name, value)
        for name, lane in self.lanes.items():
            if not tenant.may_run(name):
                lane.ring.pop(slug, None)
        self._enter_all(slug, (), now)

    def enqueue(self, slug: str, lane: str, job: JobModel) -> None:
        """One job more waits."""
        queue = self.queues.setdefault((slug, lane), deque())
        if job.front:
            queue.appendleft(job)
        else:
            queue.append(job)
        self.enter(slug, lane)

    def enter(self, slug: str, lane_name: str) -> None:
        """The only way into a ring."""
        lane, tenant = self.lanes[lane_name], self.tenants[slug]
        if slug in lane.ring or not self.queues.get((slug, lane_name)) or not tenant.may_run(lane_name):
            return
        if not lane.ring:
            lane.vtime = max(lane.vtime, self.lane_vnow)
        tenant.vtime[lane_name] = max(tenant.vtime.get(lane_name, 0.0), lane.vnow)
        lane.ring[slug] = tenant.vtime[lane_name]

    def claim(
        self, lanes: Sequence[str], now: float, *, prefer: Sequence[tuple[str, str]] = (), epsilon: float = 1e-6
    ) -> tuple[str, str, str] | None:
        """The next (tenant, lane, job id), or None. Among those equal within ``epsilon`` takes the first of ``prefer``,
        (tenant, lane) pairs, that is one of them."""
        left = list(prefer)
        while True:
            served = [name for name in lanes if self.lanes[name].ring]
            if not served:
                self._idle(lanes)
                return None
            times = {name: self.lanes[name].vtime for name in served}
            lane_name = _least(times, [lane for _, lane in left], epsilon)
            lane = self.lanes[lane_name]
            slug = _least(lane.ring, [tenant for tenant, name in left if name == lane_name], epsilon)
            if not self.tenants[slug].may_run(lane_name):
                del lane.ring[slug]
                continue
            floor = lane.vtime
            job = self._pop(slug, lane_name, now)
            if job is not None:
                self.lane_vnow = max(self.lane_vnow, floor)
                return slug, lane_name, self._take(slug, lane_name, job, now)
            left = [each for each in left if each != (slug, lane_name)]

    def settle(self, job_id: str, now: float, *, learn: bool = True, extra: float = 0.0) -> None:
        """The job's lease ends: the difference between what it used and what was charged is settled. ``extra``: what
        a lost worker costs beside."""
        lease = self.leases.pop(job_id)
        used = between(lease.started, now) + extra
        tenant = self.tenants[lease.tenant]
        tenant.running[lease.lane] -= 1
        self._let_go(job_id, lease)
        self._charge(lease, used - lease.charged)
        self._enter_all(lease.tenant, lease.gates, now)
        if learn:
            average = self.average.get(lease.job_type, used)
            self.average[lease.job_type] = average + (used - average) * AVERAGE_GAIN

    def renew(self, job_id: str, now: float) -> None:
        """A job that runs longer than expected pays while it runs."""
        lease = self.leases[job_id]
        more = between(lease.started, now) - lease.charged
        if more > 0:
            self._charge(lease, more)
            lease.charged += more

    def _pop(self, slug: str, lane_name: str, now: float) -> JobModel | None:
        """The queue's next job that may start."""
        return self.queues[(slug, lane_name)].popleft()

    def _let_go(self, job_id: str, lease: LeaseModel) -> None:
        """What it held beside its tenant's cap is free."""

    def _take(self, slug: str, lane_name: str, job: JobModel, now: float) -> str:
        lane, tenant = self.lanes[lane_name], self.tenants[slug]
        queue = self.queues[(slug, lane_name)]
        expected = self.average.get(job.job_type, DEFAULT_EXPECTED_MS)
        start = lane.ring[slug]
        vtime = start + virtual(expected, tenant.weight)
        tenant.vtime[lane_name] = lane.ring[slug] = vtime
        lane.vnow, lane.vmax = max(lane.vnow, start), max(lane.vmax, vtime)
        lane.vtime += virtual(expected, lane.share)
        self.leases[job.id] = LeaseModel(slug, lane_name, job.job_type, now, expected, lane.level, self.lane_level)
        tenant.running[lane_name] = tenant.running.get(lane_name, 0) + 1
        if not queue or not tenant.may_run(lane_name):
            del lane.ring[slug]
        return job.id

    def _charge(self, lease: LeaseModel, ms: float) -> None:
        lane, tenant = self.lanes[lease.lane], self.tenants[lease.tenant]
        if ms > 0 or lease.level == lane.level:
            vtime = tenant.vtime.get(lease.lane, 0.0) + virtual(ms, tenant.weight)
            tenant.vtime[lease.lane] = vtime
            if lease.tenant in lane.ring:
                lane.ring[lease.tenant] = vtime
            lane.vmax = max(lane.vmax, vtime)
        if ms > 0 or lease.lane_level == self.lane_level:
            lane.vtime += virtual(ms, lane.share)

    def _enter_all(self, slug: str, freed: Sequence[str] = (), now: float = 0.0) -> None:
        for lane in self.lanes:
            self.enter(slug, lane)

    def _idle(self, lanes: Sequence[str]) -> None:
        top = self.lane_vnow
        for name in lanes:
            lane = self.lanes[name]
            if lane.vmax > lane.vnow:
                lane.vnow = lane.vmax
                lane.level += 1
            top = max(top, lane.vtime)
        if top > self.lane_vnow:
            self.lane_vnow = top
            self.lane_level += 1


def _least(times: Mapping[str, float], prefer: Sequence[str], epsilon: float) -> str:
    least = min(times.values())
    for name in prefer:
        if name in times and times[name] <= least + epsilon:
            return name
    return min(name for name, value in times.items() if value == least)
