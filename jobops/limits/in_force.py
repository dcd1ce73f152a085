"""What must be in force in Redis: gate by gate, from what contracts declare and what operators put in its place.

The database is the truth for pauses and changed limits, the contracts of the running code for the rest. Redis holds a
copy, which it may lose. Several processes write that copy, and they need not run the same code (a rolling deploy):

* A worker, when it prepares, and a process that finds a Redis without limits set only what Redis does not know.
* The duty of the leading scheduler corrects what differs, and nobody else does. So a new worker and an old scheduler
  do not fight each second; what the contracts of the *scheduler* declare holds until the scheduler is replaced.
* A person's change or pause is pushed by whoever makes it; it comes from the row, which all processes see alike.
* A gate that no contract of this process speaks of is left as it is: newer code may have declared it. One that Redis
  does not know, though jobs wait for it, is made known without a limit, or they would wait for ever. That is done by
  the duty alone, after everything declared was pushed, and never while a module of job types cannot be imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobops.contracts import registry
from jobops.contracts.declared_limits import Declared, Limit, declared_limits
from jobops.engine.client import Engine
from jobops.engine.gates import GateView, read_gates
from jobops.engine.rates import parse_rate
from jobops.limits.models import LimitChange, Pause
from jobops.limits.targets import gates_of, of_gate, target_of


class Drop:
    """Nothing limits this gate any more: Redis can forget it."""


DROP: Final = Drop()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that must be in force, as read at one moment. ``everything``: the pause of all, if there is one."""

    declared: Mapping[str, Declared] = field(default_factory=dict)
    changes: Mapping[str, LimitChange] = field(default_factory=dict)
    pauses: tuple[Pause, ...] = ()

    @property
    def everything(self) -> Pause | None:
        """The pause of all, or None."""
        return next((row for row in self.pauses if row.target == Pause.Target.ALL), None)

    def pause_of(self, gate: str) -> Pause | None:
        """The row that pauses this gate, or None."""
        return next((row for row in self.pauses if gate in gates_of(target_of(row))), None)

    def paused_gates(self) -> frozenset[str]:
        """Every gate that a row pauses."""
        return frozenset(gate for row in self.pauses for gate in gates_of(target_of(row)))

    def limit(self, gate: str) -> Limit | Drop | None:
        """What must limit this gate; DROP: nothing any more; None: nobody here can tell."""
        change = self.changes.get(gate)
        if change is not None:
            return limit_of(change)
        if gate in self.declared:
            return self.declared[gate].limit
        target = of_gate(gate)
        job_type = registry.resolve(target.name) if target.kind == "type" else None
        return DROP if job_type is not None and job_type.name == target.name else None

    def gates(self) -> frozenset[str]:
        """Every gate that something is said of."""
        return frozenset(self.declared) | frozenset(self.changes) | self.paused_gates()


def wanted() -> Wanted:
    """What must be in force now, by the contracts of this process and the rows. Two queries."""
    return Wanted(
        declared_limits(registry.all_types()),
        {row.resource: row for row in LimitChange.objects.all()},
        tuple(Pause.objects.order_by("paused_at", "pk")),
    )


def wanted_and_there(engine: Engine) -> tuple[Wanted, dict[str, GateView]]:
    """What must be in force, and every gate that something is said of, here or there, as Redis has it.

    Redis is read first and the rows second: what a person pauses meanwhile stands in its row by then, and is never
    taken for a pause that nobody wants. Raises ``redis.RedisError`` and ``django.db.Error``.
    """
    views = {view.name: view for view in read_gates(engine, None)}
    must = wanted()
    missing = sorted(must.gates() - views.keys())
    views |= {view.name: view for view in (read_gates(engine, missing) if missing else [])}
    return must, views


def limit_of(change: LimitChange) -> Limit:
    """The limit that a row says. A rate that was written past the services, and is none, counts as none given."""
    try:
        rate = parse_rate(change.rate) if change.rate else None
    except ValueError:
        rate = None
    return Limit(change.concurrency or None, rate)
