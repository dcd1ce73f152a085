"""What can be paused and limited: everything, a job type, or a resource; and finding one by what a person typed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from redis.exceptions import RedisError

from jobops.contracts import registry
from jobops.contracts.declared_limits import declared_limits
from jobops.engine.gates import read_gates, type_gate
from jobops.limits import ports
from jobops.limits.errors import Ambiguous, NoEngine, UnknownName
from jobops.limits.models import LimitChange, Pause

Kind = Literal["all", "type", "resource"]
_TYPE = type_gate("")


@dataclass(frozen=True, slots=True)
class Target:
    """Everything (without a name), a job type or a resource."""

    kind: Kind
    name: str = ""

    @property
    def gate(self) -> str:
        """The gate of a type or resource; empty for everything."""
        return type_gate(self.name) if self.kind == "type" else self.name

    @property
    def audit_kind(self) -> str:
        """How the audit calls what this is of."""
        return "job_type" if self.kind == "type" else self.kind

    def __str__(self) -> str:
        """As a sentence names it: ``job type mail.send``."""
        return {"all": "everything", "type": f"job type {self.name}", "resource": f"resource {self.name}"}[self.kind]


EVERYTHING = Target("all")


def of_gate(gate: str) -> Target:
    """The job type or resource that a gate is of."""
    return Target("type", gate.removeprefix(_TYPE)) if gate.startswith(_TYPE) else Target("resource", gate)


def gates_of(target: Target) -> frozenset[str]:
    """The gates that a pause of this closes: of a job type also those of its other names, past and present.

    Jobs that were enqueued before a job type was renamed carry its old name.
    """
    if target.kind == "all":
        return frozenset()
    if target.kind == "resource":
        return frozenset((target.gate,))
    names = {target.name}
    job_type = registry.resolve(target.name)
    if job_type is not None:
        names |= {job_type.name, *job_type.aliases}
    return frozenset(type_gate(name) for name in names)


def target_of(pause: Pause) -> Target:
    """What this row pauses."""
    if pause.target == Pause.Target.ALL:
        return EVERYTHING
    return Target("type" if pause.target == Pause.Target.TYPE else "resource", pause.name)


def find(name: str, kind: Kind | None = None) -> Target:
    """The job type or resource that is called so; with a ``kind``, only one of that kind.

    Known are those of the contracts (by former names too), of Redis, where it can be reached, and of the rows here.
    Raises UnknownName with the nearest names, or Ambiguous.
    """
    if kind == "all":
        return EVERYTHING
    types, resources = known_names()
    found: list[Target] = []
    if kind != "resource":
        job_type = registry.resolve(name)
        if job_type is not None or name in types:
            found.append(Target("type", job_type.name if job_type is not None else name))
    if kind != "type" and name in resources:
        found.append(Target("resource", name))
    if not found:
        known = {"type": types, "resource": resources}.get(kind or "", types | resources)
        raise UnknownName(kind or "", name, sorted(known))
    if len(found) > 1:
        raise Ambiguous(name)
    return found[0]


def known_names() -> tuple[set[str], set[str]]:
    """Job types and resources, by what contracts, rows and Redis know. Raises ``django.db.Error``."""
    job_types = registry.all_types()
    types = {name for each in job_types for name in (each.name, *each.aliases)}
    gates: set[str] = {gate for gate in declared_limits(job_types) if not gate.startswith(_TYPE)}
    gates |= set(LimitChange.objects.values_list("resource", flat=True))
    gates |= {target_of(row).gate for row in Pause.objects.exclude(target=Pause.Target.ALL)}
    gates |= set(_gates_in_redis())
    types |= {of_gate(gate).name for gate in gates if gate.startswith(_TYPE)}
    return types, {gate for gate in gates if not gate.startswith(_TYPE)}


def _gates_in_redis() -> Iterable[str]:
    try:
        return [view.name for view in read_gates(ports.engine(), None)]
    except (RedisError, NoEngine):
        return []
