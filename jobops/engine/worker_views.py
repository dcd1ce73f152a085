"""Workers as people see them, and forgetting those that are long gone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from jobops.engine.client import Engine
from jobops.engine.processes import is_alive
from jobops.engine.registrations import (
    LOST_AFTER,
    PRUNED_AFTER,
    RQ_WORKERS,
    forget_slots,
    rq_worker,
    supervisor_key,
    supervisors_key,
    withdraw,
)

# <host>-<8 hex digits>, its supervisor's id, then -<place>.<generation>.
_SLOT_NAME = re.compile(r".+-[0-9a-f]{8}-\d+\.\d+")


@dataclass(frozen=True, slots=True)
class SlotView:
    """A slot as people see it. ``state``: busy, idle or lost; ``job_id`` empty unless busy."""

    name: str
    pid: int
    state: str
    job_id: str
    succeeded: int
    failed: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class SupervisorView:
    """A supervisor as people see it. ``state``: running, draining or lost."""

    id: str
    host: str
    pid: int
    lanes: tuple[str, ...]
    state: str
    started_at: datetime
    heartbeat_at: datetime
    heartbeat_s: float
    jobs: int
    version: str
    slots: tuple[SlotView, ...]


def served_lanes(supervisors: Iterable[SupervisorView]) -> frozenset[str]:
    """The lanes that a living worker takes jobs from."""
    return frozenset(lane for one in supervisors if one.state == "running" for lane in one.lanes)


def read_supervisors(engine: Engine) -> list[SupervisorView]:
    """All supervisors that were seen lately, oldest start first. Lost: it missed two heartbeats, or was seen dead."""
    scored: Any = engine.redis.zrange(supervisors_key(engine.keys), 0, -1, withscores=True)
    scores = {member.decode(): int(score) for member, score in scored}
    if not scores:
        return []
    now_ms = engine.scripts.now_ms()
    with engine.redis.pipeline(transaction=False) as pipe:
        for supervisor in scores:
            pipe.hgetall(supervisor_key(engine.keys, supervisor))
        records = pipe.execute()
    views = [
        _view(engine, supervisor, {key.decode(): value.decode() for key, value in record.items()}, seen_ms, now_ms)
        for (supervisor, seen_ms), record in zip(scores.items(), records, strict=True)
        if record
    ]
    return sorted(views, key=lambda view: (view.started_at, view.id))


def _view(engine: Engine, supervisor: str, record: dict[str, str], seen_ms: int, now_ms: int) -> SupervisorView:
    heartbeat_ms = int(record.get("heartbeat_ms", 5000))
    lost = record.get("lost") == "1" or now_ms - seen_ms > LOST_AFTER * heartbeat_ms
    slots = json.loads(record.get("slots", "[]"))
    state = "lost" if lost else "draining" if "1" in (record.get("draining"), record.get("drain")) else "running"
    return SupervisorView(
        id=supervisor,
        host=record.get("host", ""),
        pid=int(record.get("pid", 0)),
        lanes=tuple(filter(None, record.get("lanes", "").split(","))),
        state=state,
        started_at=datetime.fromtimestamp(int(record.get("started_at_ms", 0)) / 1000, UTC),
        heartbeat_at=datetime.fromtimestamp(seen_ms / 1000, UTC),
        heartbeat_s=heartbeat_ms / 1000,
        jobs=int(record.get("jobs", 0)),
        version=record.get("version", ""),
        slots=tuple(_slot_views(engine, slots, lost)),
    )


def _slot_views(engine: Engine, slots: list[dict[str, str | int]], lost: bool) -> Iterator[SlotView]:
    fields = ("state", "current_job", "successful_job_count", "failed_job_count", "total_working_time")
    with engine.redis.pipeline(transaction=False) as pipe:
        for slot in slots:
            pipe.hmget(rq_worker(str(slot["name"])), *fields)
        answers = pipe.execute()
    for slot, (state, job, succeeded, failed, busy_s) in zip(slots, answers, strict=True):
        yield SlotView(
            name=str(slot["name"]),
            pid=int(slot["pid"]),
            state="lost" if lost or state is None else state.decode(),
            job_id=(job or b"").decode(),
            succeeded=int(succeeded or 0),
            failed=int(failed or 0),
            busy_s=float(busy_s or 0),
        )


def prune(engine: Engine, *, host: str = "") -> list[str]:
    """Forgets supervisors that missed many heartbeats; with ``host``, called by one that starts there, also those of
    this host that are lost or have no process. Returns the forgotten ones' ids.

    Only what is shown changes. A supervisor that lives nevertheless announces itself anew with its next heartbeat.
    """
    now = datetime.fromtimestamp(engine.scripts.now_ms() / 1000, UTC)
    gone = []
    views = read_supervisors(engine)
    for view in views:
        long_ago = (now - view.heartbeat_at).total_seconds() > PRUNED_AFTER * view.heartbeat_s
        left_here = view.host == host and (view.state == "lost" or not is_alive(view.pid))
        if long_ago or left_here:
            forget_slots(engine, [slot.name for slot in view.slots])
            withdraw(engine, view.id)
            gone.append(view.id)
    known = {view.id for view in views} - set(gone)
    # A slot may have registered itself after its supervisor's last word.
    forget_slots(engine, [slot for slot in _our_slots(engine) if slot.rpartition("-")[0] not in known])
    return gone


def _our_slots(engine: Engine) -> Iterator[str]:
    """Names of slots among RQ's workers; RQ's own workers are called otherwise."""
    workers: Any = engine.redis.smembers(RQ_WORKERS)
    for key in workers:
        name = key.decode(errors="replace").removeprefix(rq_worker(""))
        if _SLOT_NAME.fullmatch(name):
            yield name
