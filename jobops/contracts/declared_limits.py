"""The limits that contracts declare, gate by gate: of a resource by all that name it, of a job type by itself. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobops.contracts.job_type import JobType
from jobops.engine.gates import type_gate
from jobops.engine.rates import Rate


@dataclass(frozen=True, slots=True)
class Limit:
    """Most jobs in flight at once and most starts; None: any number."""

    concurrency: int | None = None
    rate: Rate | None = None

    def __bool__(self) -> bool:
        """Whether it limits anything."""
        return self.concurrency is not None or self.rate is not None

    def __str__(self) -> str:
        parts = [f"{self.concurrency:,} at once"] if self.concurrency is not None else []
        parts += [f"starts at {self.rate}"] if self.rate is not None else []
        return ", ".join(parts) or "none"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the contracts say of one gate. ``by``: the job types that give a limit; ``users``: all that pass the gate.

    ``clash``: what two of them contradict each other in. Until that is mended the tighter one holds, whatever the order
    in which modules are imported.
    """

    gate: str
    limit: Limit = Limit()
    by: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    clash: str = ""


def gate_of(job_type: JobType) -> str:
    """The gate that this type's own limits are of: its resource's, or without a resource the type's own."""
    return job_type.resource or type_gate(job_type.name)


def declared_limits(job_types: Iterable[JobType]) -> dict[str, Declared]:
    """Gate → what is declared of it: every resource that is named, and every job type that limits itself."""
    users: dict[str, list[JobType]] = {}
    for job_type in sorted(job_types, key=lambda each: each.name):
        if job_type.resource or job_type.concurrency is not None or job_type.rate is not None:
            users.setdefault(gate_of(job_type), []).append(job_type)
    return {gate: _together(gate, found) for gate, found in sorted(users.items())}


def effective(gate: str, declared: Mapping[str, Declared]) -> Limit:
    """The declared limit of a gate; none where no contract says anything."""
    found = declared.get(gate)
    return found.limit if found is not None else Limit()


def _together(gate: str, users: list[JobType]) -> Declared:
    counts = {user.name: user.concurrency for user in users if user.concurrency is not None}
    rates = {user.name: user.rate for user in users if user.rate is not None}
    clashes = [
        f"{what} {', '.join(f'{value} ({name})' for name, value in found.items())}"
        for what, found in (("concurrency", counts), ("rate", rates))
        if len(set(found.values())) > 1
    ]
    limit = Limit(
        min(counts.values(), default=None),
        min(rates.values(), key=lambda rate: (rate.per_second, rate.count), default=None),
    )
    by = tuple(sorted({*counts, *rates}))
    return Declared(gate, limit, by, tuple(user.name for user in users), "; ".join(clashes))
