"""Who works: the supervisors' records in Redis, and their slots' entries among RQ's workers.

A supervisor announces itself and its slots with every heartbeat. Nothing here decides about a job: leases do that.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from redis.client import Pipeline

from jobops.engine.client import Engine
from jobops.engine.keys import Keys

RQ_WORKERS = "rq:workers"
RECORD_TTL_S = 86_400
# A supervisor that missed so many heartbeats is shown as lost, …
LOST_AFTER = 2
# … and after so many it is not shown any more, and RQ's entries of its slots expire.
PRUNED_AFTER = 12


def this_host() -> str:
    """What this host is called in the records and in the ids of its supervisors."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname())[:40] or "host"


def supervisors_key(keys: Keys) -> str:
    """zset: ids of the supervisors → their last heartbeat, in ms on Redis's clock."""
    return f"{keys.prefix}:supervisors"


def supervisor_key(keys: Keys, supervisor: str) -> str:
    """hash: host, pid, lanes, slots (JSON), started_at_ms, heartbeat_ms, draining, drain, lost, jobs, version, types
    (a digest)."""
    return f"{keys.prefix}:supervisor:{supervisor}"


def rq_worker(slot: str) -> str:
    """RQ's hash of a worker; a slot's name is its worker's name."""
    return f"rq:worker:{slot}"


@dataclass(frozen=True, slots=True)
class SlotReport:
    """One living slot as its supervisor knows it. ``busy_s``: seconds of worker time since it was born."""

    name: str
    pid: int
    busy: bool
    job_id: str
    succeeded: int
    failed: int
    busy_s: float
    born_at: datetime


@dataclass(frozen=True, slots=True)
class SupervisorReport:
    """A supervisor about itself. ``jobs``: ended under it since it started. ``job_types``: those that its code knows;
    empty: it does not say."""

    id: str
    host: str
    pid: int
    lanes: tuple[str, ...]
    started_at_ms: int
    heartbeat_ms: int
    draining: bool
    jobs: int
    version: str
    job_types: frozenset[str] = frozenset()


def announce(engine: Engine, report: SupervisorReport, slots: Sequence[SlotReport]) -> None:
    """The heartbeat: writes the records anew, also where a flush took them."""
    now_ms = engine.scripts.now_ms()
    record = supervisor_key(engine.keys, report.id)
    digest = types_digest(report.job_types)
    with engine.redis.pipeline(transaction=True) as pipe:
        pipe.hset(
            record,
            mapping={
                "host": report.host,
                "pid": report.pid,
                "lanes": ",".join(report.lanes),
                "slots": json.dumps([{"name": slot.name, "pid": slot.pid, "job": slot.job_id} for slot in slots]),
                "started_at_ms": report.started_at_ms,
                "heartbeat_ms": report.heartbeat_ms,
                "draining": int(report.draining),
                "lost": 0,
                "jobs": report.jobs,
                "version": report.version,
                "types": digest,
            },
        )
        pipe.expire(record, RECORD_TTL_S)
        if digest:
            pipe.sadd(engine.keys.types(digest), *report.job_types)
            pipe.expire(engine.keys.types(digest), RECORD_TTL_S)
        pipe.zadd(supervisors_key(engine.keys), {report.id: now_ms})
        for slot in slots:
            _announce_slot(pipe, report, slot, now_ms)
        pipe.execute()


def types_digest(job_types: Iterable[str]) -> str:
    """What a set of job types is called; empty for none."""
    names = sorted(job_types)
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16] if names else ""


def _announce_slot(pipe: Pipeline, report: SupervisorReport, slot: SlotReport, now_ms: int) -> None:
    key = rq_worker(slot.name)
    pipe.hset(
        key,
        mapping={
            "state": "busy" if slot.busy else "idle",
            "current_job": slot.job_id,
            "birth": _rq_time(slot.born_at),
            "last_heartbeat": _rq_time(datetime.fromtimestamp(now_ms / 1000, UTC)),
            "queues": "",
            "pid": slot.pid,
            "hostname": report.host,
            "version": report.version,
            "python_version": platform.python_version(),
            "successful_job_count": slot.succeeded,
            "failed_job_count": slot.failed,
            "total_working_time": slot.busy_s,
        },
    )
    pipe.expire(key, max(60, report.heartbeat_ms * PRUNED_AFTER // 1000))
    pipe.sadd(RQ_WORKERS, key)


def _rq_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def forget_slots(engine: Engine, names: Iterable[str]) -> None:
    """These slots are dead: RQ's tools show them no more."""
    keys = [rq_worker(name) for name in names]
    if keys:
        with engine.redis.pipeline(transaction=True) as pipe:
            pipe.srem(RQ_WORKERS, *keys)
            pipe.delete(*keys)
            pipe.execute()


def withdraw(engine: Engine, supervisor: str) -> None:
    """The supervisor is gone in good order."""
    with engine.redis.pipeline(transaction=True) as pipe:
        pipe.zrem(supervisors_key(engine.keys), supervisor)
        pipe.delete(supervisor_key(engine.keys, supervisor))
        pipe.execute()


def mark_lost(engine: Engine, supervisor: str) -> None:
    """The supervisor was killed: it is shown as lost until the next start on its host, or for a while."""
    key = supervisor_key(engine.keys, supervisor)
    if engine.redis.exists(key):
        engine.redis.hset(key, "lost", "1")


def request_drain(engine: Engine, supervisor: str) -> None:
    """Asks a living supervisor to drain; it sees that within about a second."""
    engine.redis.hset(supervisor_key(engine.keys, supervisor), "drain", "1")


def is_drain_requested(engine: Engine, supervisor: str) -> bool:
    """Whether somebody asked this supervisor to drain."""
    return engine.redis.hget(supervisor_key(engine.keys, supervisor), "drain") == b"1"
