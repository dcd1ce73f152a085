"""Limits and pauses: Redis obeys the rows and contracts, and no gate has more in flight than its limit (I2)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from jobops.doctor import walk
from jobops.doctor.findings import Finding, NotRepaired
from jobops.doctor.site import Site
from jobops.engine.client import Engine
from jobops.engine.gates import GateView, read_gates
from jobops.limits.drift import Drift, drifts
from jobops.limits.models import LimitChange
from jobops.limits.targets import EVERYTHING, Target, of_gate


def check(site: Site) -> Iterator[Finding]:
    """What differs, after a second look: a change is committed first and pushed right after."""
    found = drifts(site.engine)
    if found:
        site.wait()
        again = drifts(site.engine)
        yield from (_told(site.engine, drift) for drift in again if drift in found)
    for view in read_gates(site.engine, None):
        if view.concurrency is not None and view.inflight > view.concurrency:
            yield _over(site.engine, view)


def _told(engine: Engine, drift: Drift) -> Finding:
    target = of_gate(drift.gate) if drift.gate else EVERYTHING
    return Finding("limit_drift", target.audit_kind, _name(target), drift.text, remedy=partial(_mend, engine, drift))


def _mend(engine: Engine, drift: Drift) -> str:
    if not drift.mend(engine):
        return ""
    if any((each.gate, each.what) == (drift.gate, drift.what) for each in drifts(engine)):
        raise NotRepaired("Redis did not take it; see the log")
    return "pause put in force" if drift.what == "pause" else "limit put in force"


def _over(engine: Engine, view: GateView) -> Finding:
    """Whoever started before the limit was changed, started under an older one."""
    target = of_gate(view.name)
    text = f"{view.inflight} of its jobs run, its limit is {view.concurrency}"
    changed_at = LimitChange.objects.filter(resource=view.name).values_list("changed_at", flat=True).first()
    newest_at = _newest_start(engine, view.name)
    if changed_at is not None and newest_at is not None and newest_at <= changed_at:
        text += ": it was lowered while they ran, none has started since, and they fall by themselves"
        return Finding("over_limit", target.audit_kind, _name(target), text, is_note=True)
    text += ". If it was lowered a moment ago, look again when they have ended; else a claim was wrong"
    return Finding("over_limit", target.audit_kind, _name(target), text)


def _newest_start(engine: Engine, gate: str) -> datetime | None:
    ids: Any = engine.redis.zrange(engine.keys.inflight_resource(gate), 0, -1)
    with engine.redis.pipeline(transaction=False) as pipe:
        for raw in ids:
            pipe.hget(engine.keys.lease(walk.text(raw)), "started")
        started = [int(micros) for micros in pipe.execute() if micros and micros.isdigit()]
    return datetime.fromtimestamp(max(started) / 1_000_000, UTC) if started else None


def _name(target: Target) -> str:
    return target.name or "everything"
