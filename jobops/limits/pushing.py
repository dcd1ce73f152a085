"""Carrying pauses and limits to Redis. Each push reads what must hold and writes it in one turn: see ``turn``."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from jobops.contracts import registry
from jobops.contracts.declared_limits import Limit, declared_limits
from jobops.engine.client import Engine
from jobops.engine.gates import GateView, read_gates
from jobops.limits.in_force import DROP, Drop, wanted
from jobops.limits.turn import turn

log = logging.getLogger("jobops.limits")

_MARK = "limits"
"""The field of the cell that says: this Redis was given the limits and pauses. A flush takes it away."""


def push_everything_paused(engine: Engine) -> None:
    """Put the pause of all, or that there is none, in force. Raises ``redis.RedisError``."""
    with turn():
        (engine.scripts.pause if wanted().everything else engine.scripts.resume)(None)


def push_pauses(engine: Engine, gates: Iterable[str]) -> None:
    """Pause or resume these gates, as the rows say. Raises ``redis.RedisError``."""
    with turn():
        paused = wanted().paused_gates()
        for gate in sorted(gates):
            _pause(engine, gate, gate in paused)


def push_limit(engine: Engine, gate: str, *, otherwise: Limit | None = None) -> bool:
    """Put a gate's limit in force, or ``otherwise`` where nothing here says what it is. False: nothing does.

    Raises ``redis.RedisError``.
    """
    with turn():
        limit = wanted().limit(gate)
        limit = otherwise if limit is None else limit
        if limit is not None:
            _set(engine, gate, limit)
    return limit is not None


def make_known(engine: Engine, gate: str) -> bool:
    """Let jobs pass that wait for a gate nobody limits; False: it is limited, or known by now.

    Raises ``redis.RedisError``.
    """
    with turn():
        (view,) = read_gates(engine, [gate])
        if view.known or wanted().limit(gate) is not None:
            return False
        engine.scripts.set_limit(gate, None, None)
    return True


def push_unknown(engine: Engine) -> int:
    """Set what the contracts of this process declare and Redis does not know; answers how many gates.

    For a worker that prepares: it asks no database, as its renewals cannot wait for one. What operators changed comes
    before any tenant may run (``restore``), so that here nothing looser takes its place in a Redis that was flushed.
    Raises ``redis.RedisError``.
    """
    declared = declared_limits(registry.all_types())
    unknown = [view.name for view in read_gates(engine, sorted(declared)) if not view.known] if declared else []
    for gate in unknown:
        _set(engine, gate, declared[gate].limit)
    return len(unknown)


def restore(engine: Engine, *, again: bool = False) -> bool:
    """Give a Redis that has lost them its limits and pauses; False: it has them.

    It is called before any tenant's policy is pushed: what is paused or limited must be so before the first job of
    anybody can start in a Redis that was flushed (CC-11). ``again``: also where it seems to have them, as in one that
    was restored from a backup. Raises ``redis.RedisError`` and ``django.db.Error``.
    """
    if not again and engine.redis.hexists(engine.keys.cell(), _MARK):
        return False
    with turn():
        must = wanted()
        if must.everything is not None:
            engine.scripts.pause(None)
        for gate in sorted(must.paused_gates()):
            engine.scripts.pause_gate(gate)
        for view in read_gates(engine, sorted(must.gates())) if must.gates() else []:
            limit = must.limit(view.name)
            if isinstance(limit, Limit) and (view.name in must.changes or not view.known):
                _set(engine, view.name, limit)
        engine.redis.hset(engine.keys.cell(), _MARK, "1")
    return True


def differs(view: GateView, limit: Limit | Drop) -> bool:
    """Whether Redis limits this gate in another way."""
    if limit is DROP:
        return view.known and (view.concurrency is not None or view.rate is not None)
    assert isinstance(limit, Limit)
    return not view.known or (view.concurrency, view.rate) != (limit.concurrency, limit.rate)


def _pause(engine: Engine, gate: str, paused: bool) -> None:
    (engine.scripts.pause_gate if paused else engine.scripts.resume_gate)(gate)


def _set(engine: Engine, gate: str, limit: Limit | Drop) -> None:
    if isinstance(limit, Limit):
        engine.scripts.set_limit(gate, limit.concurrency, limit.rate)
    else:
        engine.scripts.drop_limit(gate)
