"""Gates as a pure model, on top of `jobops.engine.fairness`: the reference that the Lua commands are tested against.

A job meets its gates when it is popped. Closed, it waits in the line of its queue at that gate, and the pop goes on. A
gate with room offers it to the queues with a line in turn (start-time fair, a turn costs 1 / (weight × lane share)), at
most one waiter of each at a time: that one goes to the front of its own queue, behind older ones there: those that
other gates sent, and those that come again after a start. Who is popped while an older one of its queue waits at the
same gate changes places with it. Who was sent back by one gate and then waits at another leaves the first one's offer
to the next. Token buckets are not modelled. Times in milliseconds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

from jobops.engine.fairness import FairModel, JobModel, LeaseModel
from jobops.engine.gates import TYPE, type_gate

STEP = 1 / 1024
BACKSTOP_MS = 1000
OFFERS = WINDOW = UNPARKED = PASSED = 16
FRONT = 33

Queue = tuple[str, str]


@dataclass
class GateModel:
    """One gate: its limits, who is in flight there, and each queue's line with its turns."""

    known: bool = False
    concurrency: int | None = None
    paused: bool = False
    brake_until: int = 0
    inflight: set[str] = field(default_factory=set)
    lines: dict[Queue, list[JobModel]] = field(default_factory=dict)
    turns: dict[Queue, float] = field(default_factory=dict)
    turned: dict[Queue, float] = field(default_factory=dict)

    def enter(self, queue: Queue) -> bool:
        """The queue takes turns. Whether it did not before."""
        if queue in self.turns:
            return False
        if not self.turns:
            self.turned.clear()
        self.turns[queue] = max(min(self.turns.values(), default=0.0), self.turned.pop(queue, 0.0))
        return True

    def leave(self, queue: Queue) -> None:
        """The queue takes no turns; what it owes stays written down while others do."""
        time = self.turns.pop(queue, None)
        if time is None:
            return
        if not self.turns:
            self.turned.clear()
            return
        first = min(self.turns.values())
        self.turned = {each: owed for each, owed in self.turned.items() if owed > first}
        if time > first:
            self.turned[queue] = time

    def remove(self, queue: Queue, job: JobModel) -> None:
        """The job waits no more."""
        self.lines[queue].remove(job)
        if not self.lines[queue]:
            del self.lines[queue]
            self.leave(queue)

    def in_turn(self) -> list[Queue]:
        """Queues by turn; equal ones by name."""
        return sorted(self.turns, key=lambda queue: (self.turns[queue], ".".join(queue)))


class GatedModel(FairModel):
    """`FairModel` with gates; the same operations as the engine."""

    def __init__(self, lanes: Mapping[str, float]) -> None:
        super().__init__(lanes)
        self.gates: dict[str, GateModel] = {}
        self.parked: dict[str, int] = {}

    # -- what people and jobs do to a gate -----------------------------------------------------------------------------

    def set_limit(self, name: str, concurrency: int | None, now: float) -> None:
        """Its limits are known."""
        gate = self.gates.setdefault(name, GateModel())
        gate.known, gate.concurrency = True, concurrency
        self.release(name, OFFERS, now)

    def drop_limit(self, name: str, now: float) -> None:
        """Its limits are not known any more."""
        if name in self.gates:
            self.gates[name].known, self.gates[name].concurrency = False, None
            self._forget_bare(name, now)
        self.release(name, OFFERS, now)

    def pause_gate(self, name: str, paused: bool, now: float) -> None:
        """Nothing starts, or may again."""
        if self.gates.get(name, GateModel()).paused == paused:
            return
        self.gates.setdefault(name, GateModel()).paused = paused
        if not paused:
            self._forget_bare(name, now)
        self.release(name, OFFERS, now)

    def brake(self, job_id: str, resource: str, till: float) -> str:
        """A running job's brake; answers its gate. Its lease is to end next, and then it is to be `hold`."""
        name = resource or type_gate(self.leases[job_id].job_type)
        gate = self.gates.setdefault(name, GateModel())
        gate.brake_until = max(gate.brake_until, math.floor(till))
        self.parked[name] = gate.brake_until
        return name

    def cancel(self, queue: Queue, job: JobModel, waits: str, now: float) -> None:
        """One that waits, in its queue or for the gate ``waits``, is no more."""
        if waits:
            self.gates[waits].remove(queue, job)
            return
        self.queues[queue].remove(job)
        self._note_empty(queue)
        if job.back:
            self.release(job.back, 1, now)

    # -- the pick ------------------------------------------------------------------------------------------------------

    def claim(
        self, lanes: Sequence[str], now: float, *, prefer: Sequence[tuple[str, str]] = (), epsilon: float = 1e-6
    ) -> tuple[str, str, str] | None:
        """What time has opened comes into play first."""
        due = sorted((at, name) for name, at in self.parked.items() if at <= math.floor(now))
        for _, name in due[:UNPARKED]:
            self.parked.pop(name, None)
            self.release(name, OFFERS, now)
        return super().claim(lanes, now, prefer=prefer, epsilon=epsilon)

    def _pop(self, slug: str, lane_name: str, now: float) -> JobModel | None:
        waiting, passed = self.queues[(slug, lane_name)], 0
        while waiting and passed < PASSED:
            job = waiting.popleft()
            if self._meet((slug, lane_name), job, now):
                return job
            passed += 1
        self._charge(LeaseModel(slug, lane_name, "", 0.0, 0.0), 1)
        self._note_empty((slug, lane_name))
        return None

    def _meet(self, queue: Queue, job: JobModel, now: float) -> bool:
        for name in self._gates_of(job):
            room, till = self._room(name, now)
            line = self.gates[name].lines.get(queue, []) if name in self.gates else []
            own = job.order if job.order is not None else -math.inf if job.front else math.inf
            older = line[0] if room > 0 and line and (line[0].order or 0.0) < own else None
            if room > 0 and older is None:
                continue
            left = job.back
            self.hold(queue, job, name)
            if older is not None:
                self._turn(name, queue)
                self._give_back(name, queue, older)
            elif till is not None:
                self.parked[name] = till
            if left not in ("", name):
                self.release(left, 1, now)
            return False
        return True

    def _take(self, slug: str, lane_name: str, job: JobModel, now: float) -> str:
        names = self._gates_of(job)
        super()._take(slug, lane_name, job, now)
        job.order, job.back, job.started = None, "", True
        self.leases[job.id].gates = tuple(names)
        for name in names:
            self.gates[name].inflight.add(job.id)
        for name in names:
            if self.gates[name].lines:
                self.release(name, 1, now)
        return job.id

    def hold(self, queue: Queue, job: JobModel, name: str, *, first: bool = False) -> None:
        """It waits in its queue's line at the gate, before all others of its queue that wait if ``first``."""
        orders = [each.order or 0.0 for gate in self.gates.values() for each in gate.lines.get(queue, [])]
        gate = self.gates.setdefault(name, GateModel())
        line = gate.lines.setdefault(queue, [])
        if first or (job.order is None and job.front):
            own = job.order if job.order is not None else job.runnable
            job.order = min(own, min(orders) - STEP) if orders else own
        elif job.order is None:
            job.order = max(job.runnable, max(orders) + STEP) if orders else job.runnable
        job.back = ""
        line.append(job)
        line.sort(key=lambda each: (each.order, each.id))
        gate.enter(queue)

    # -- who comes into play -------------------------------------------------------------------------------------------

    def release(self, name: str, most: int, now: float) -> None:
        """Room that there may be is offered to up to ``most`` who wait, and the gate is parked while any do."""
        gate = self.gates.get(name, GateModel())
        room, till = self._room(name, now)
        left, place = min(room, most), 0
        while left > 0 and place < WINDOW and place < len(gate.turns):
            queue = gate.in_turn()[place]
            if not self.tenants[queue[0]].may_run(queue[1]):
                gate.leave(queue)
            elif self._is_offered(name, queue):
                place += 1
            else:
                self._turn(name, queue)
                self._give_back(name, queue, gate.lines[queue][0])
                left -= 1
        self.parked.pop(name, None)
        if not gate.lines:
            if not gate.known:
                self._forget_bare(name, now)
        elif room > 0:
            self.parked[name] = math.floor(now) + BACKSTOP_MS
        elif till is not None:
            self.parked[name] = till

    def _enter_all(self, slug: str, freed: Sequence[str] = (), now: float = 0.0) -> None:
        super()._enter_all(slug, freed, now)
        names = set(freed)
        for lane in self.lanes:
            for name, gate in self.gates.items():
                if (slug, lane) in gate.lines and self.tenants[slug].may_run(lane) and gate.enter((slug, lane)):
                    names.add(name)
        for name in sorted(names):
            self.release(name, 1, now)

    def _let_go(self, job_id: str, lease: LeaseModel) -> None:
        for name in lease.gates:
            if name in self.gates:
                self.gates[name].inflight.discard(job_id)

    def _give_back(self, name: str, queue: Queue, job: JobModel) -> None:
        self.gates[name].remove(queue, job)
        job.front, job.back = True, name
        waiting, behind = self.queues.setdefault(queue, deque()), 0
        for place, each in enumerate(self._front_run(queue), start=1):
            if each.started if each.order is None else each.order < (job.order or 0.0):
                behind = place
        waiting.insert(behind, job)
        self.enter(*queue)

    def _turn(self, name: str, queue: Queue) -> None:
        turns = self.gates[name].turns
        if queue in turns:
            turns[queue] += 1 / (self.tenants[queue[0]].weight * self.lanes[queue[1]].share)

    def _front_run(self, queue: Queue) -> list[JobModel]:
        return list(takewhile(lambda job: job.front, islice(self.queues.get(queue, ()), FRONT)))

    def _is_offered(self, name: str, queue: Queue) -> bool:
        return any(job.back == name for job in self._front_run(queue))

    def _gates_of(self, job: JobModel) -> list[str]:
        names = [type_gate(job.job_type)] if type_gate(job.job_type) in self.gates else []
        return [*names, job.resource] if job.resource else names

    def _room(self, name: str, now: float) -> tuple[float, int | None]:
        gate = self.gates.get(name, GateModel())
        if gate.paused:
            return 0, None
        if gate.brake_until > math.floor(now):
            return 0, gate.brake_until
        if not gate.known and not name.startswith(TYPE):
            return 0, math.floor(now) + BACKSTOP_MS
        if gate.concurrency is None:
            return math.inf, None
        return max(0, gate.concurrency - len(gate.inflight)), None

    def _forget_bare(self, name: str, now: float) -> None:
        gate = self.gates.get(name)
        if gate and not (
            gate.known or gate.paused or gate.brake_until > math.floor(now) or gate.lines or gate.inflight
        ):
            del self.gates[name]
            self.parked.pop(name, None)

    def _note_empty(self, queue: Queue) -> None:
        if not self.queues.get(queue):
            self.lanes[queue[1]].ring.pop(queue[0], None)
