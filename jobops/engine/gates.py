"""Gates: what limits starts beside a tenant's own policy. A resource is one, and a job type with limits of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobops.engine.client import Engine
from jobops.engine.rates import Rate

TYPE = "type:"
BATCH = 500
"""Gates read in one step."""


@dataclass(frozen=True, slots=True)
class GateView:
    """A gate now. ``concurrency`` and ``rate`` None: any number. ``inflight``: jobs that run and hold a place at it.
    ``waiting``: jobs that wait for it. ``tokens``: starts that its rate leaves at this moment; None without a rate.

    ``brake_until_ms``: nothing starts before then (0: no brake), put on by job ``brake_by``, which said
    ``brake_error`` (unmasked). ``known`` False: nobody
    has set its limits (any more), so that jobs that need this resource wait; a job type's gate lets them through.
    """

    name: str
    concurrency: int | None
    rate: Rate | None
    inflight: int
    waiting: int
    tokens: float | None
    brake_until_ms: int
    brake_by: str
    paused: bool
    known: bool
    brake_error: str = ""


def type_gate(job_type: str) -> str:
    """The gate of a job type's own limits."""
    return f"{TYPE}{job_type}"


def read_gates(engine: Engine, names: Sequence[str] | None = None) -> list[GateView]:
    """These gates in the order asked, also those that nobody knows anything of; None: every gate there is, by name.

    Each batch is read at one instant. Raises redis-py's errors when Redis is away.
    """
    if names is None:
        return [_view(answer) for answer in engine.scripts.gates()]
    batches = (names[start : start + BATCH] for start in range(0, len(names), BATCH))
    return [_view(answer) for batch in batches for answer in engine.scripts.gates(*batch)]


def _view(answer: Sequence[Any]) -> GateView:
    name, known, concurrency, count, per_ms, inflight, waiting, tokens, brake_until, brake_by, paused, said = answer
    return GateView(
        name=name.decode(errors="backslashreplace"),
        concurrency=_whole(concurrency),
        rate=_rate(_whole(count), _whole(per_ms)),
        inflight=inflight,
        waiting=waiting,
        tokens=float(tokens) if tokens else None,
        brake_until_ms=_whole(brake_until) or 0,
        brake_by=brake_by.decode(errors="backslashreplace"),
        paused=paused == 1,
        known=known == 1,
        brake_error=said.decode(errors="backslashreplace"),
    )


def _whole(raw: bytes) -> int | None:
    return int(raw) if raw.isdigit() and len(raw) < 17 else None


def _rate(count: int | None, per_ms: int | None) -> Rate | None:
    return Rate(count, per_ms) if count and per_ms else None
