"""One job, or a page of a queue's jobs, as people see them. Nothing here trusts what a job's hash says."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from jobops.engine import keys as rq
from jobops.engine.client import Engine
from jobops.engine.records import Attempt, JobView
from jobops.engine.scripts import BRIEF

ListState = Literal["queued", "waiting", "started", "finished", "failed", "cancelled"]

_STATES = {
    "queued": "queued",
    "scheduled": "scheduled",
    "started": "started",
    "failed": "dead",
    "canceled": "cancelled",
    "deferred": "scheduled",
    "rate_limited": "waiting",
    "stopped": "cancelled",
}
_REGISTRIES = {
    "started": rq.rq_wip,
    "finished": rq.rq_finished,
    "failed": rq.rq_failed,
    "cancelled": rq.rq_canceled,
}


def read_job(engine: Engine, job_id: str) -> JobView | None:
    """The job, or None when Redis holds (any longer) nothing of it."""
    fields: Any = engine.redis.hgetall(rq.rq_job(job_id))
    return view_of(job_id, fields) if fields else None


def read_jobs(engine: Engine, job_ids: list[str]) -> list[JobView]:
    """The jobs that Redis still holds, in the order asked."""
    with engine.redis.pipeline(transaction=False) as pipe:
        for job_id in job_ids:
            pipe.hgetall(rq.rq_job(job_id))
        answers = pipe.execute()
    return [view_of(job_id, fields) for job_id, fields in zip(job_ids, answers, strict=True) if fields]


def list_jobs(
    engine: Engine, queue: str, *, state: ListState = "queued", offset: int = 0, limit: int = 50
) -> list[JobView]:
    """A page of a queue's jobs: queued ones and those that wait at gates oldest first, started ones by id, others by
    when they expire."""
    first, last = max(0, offset), max(0, offset) + max(1, min(limit, 500)) - 1
    raw: Any
    if state == "queued":
        raw = engine.redis.lrange(rq.rq_queue(queue), first, last)
    elif state == "waiting":
        raw = engine.redis.zrange(engine.keys.held(*rq.split_queue(queue)), first, last)
    else:
        raw = engine.redis.zrange(_REGISTRIES[state](queue), first, last, desc=state != "started")
    return read_jobs(engine, [member.decode(errors="backslashreplace").partition(":")[0] for member in raw])


def view_of(job_id: str, fields: Mapping[bytes, bytes]) -> JobView:
    """Reads a job's hash, whoever wrote it: what is missing or malformed becomes empty."""
    text = {key.decode(errors="backslashreplace"): value for key, value in fields.items()}

    def get(name: str) -> str:
        return text.get(name, b"").decode(errors="backslashreplace")

    def number(name: str) -> int:
        value = get(name)
        return int(value) if value.isascii() and value.isdigit() and len(value) < 17 else 0

    origin = get("origin")
    tenant, _, lane = origin.rpartition(".")
    status = get("status")
    state = _STATES.get(status, status or "unknown")
    if status == "finished":
        state = "discarded" if get("jo_outcome") == "discarded" else "succeeded"
    return JobView(
        id=job_id,
        tenant=get("jo_tenant") or tenant,
        lane=get("jo_lane") or lane,
        queue=origin,
        job_type=get("jo_type") or get("description"),
        state=state,
        attempts=number("jo_attempt"),
        max_attempts=number("jo_max_attempts"),
        created_at=_at(number("jo_enqueued")),
        enqueued_at=_at(number("jo_enqueued")),
        started_at=_at(number("jo_started")),
        ended_at=_at(number("jo_ended")),
        due_at=_at(number("jo_due")) if state == "scheduled" else None,
        worker=get("worker_name"),
        result=text.get("result", b""),
        error_class=get("jo_error_class"),
        error=get("jo_error"),
        traceback=inflate(text.get("exc_info", b"")).decode(errors="backslashreplace"),
        reason=get("jo_reason"),
        key=get("jo_key"),
        correlation_id=get("jo_correlation"),
        data=inflate(text.get("data", b"")),
        history=history_of(text),
        tenant_uid=get("jo_tenant_uid"),
        replay_of=get("jo_replay_of"),
        progress=(number("jo_done"), number("jo_total")) if "jo_total" in text else None,
        checkpoint=text.get("jo_state", b""),
        checkpoint_at=_at(number("jo_state_at")),
        waits_for=get("jo_waits") if state == "waiting" else "",
        resource=get("jo_resource"),
        batch=get("jo_batch"),
    )


def history_of(fields: Mapping[str, bytes]) -> tuple[Attempt, ...]:
    """The attempts kept in a job's hash, by number. One that cannot be read is left out."""
    found = []
    for name, value in fields.items():
        if name.startswith("attempt:"):
            try:
                found.append(_attempt(json.loads(value)))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                continue
    if "jo_ran_by" in fields:
        last = _last_attempt(fields)
        if last is not None and all(attempt.number != last.number for attempt in found):
            found.append(last)
    return tuple(sorted(found, key=lambda attempt: attempt.number))


def _last_attempt(fields: Mapping[str, bytes]) -> Attempt | None:
    """Of a job that ended well: its record tells all of it, so there is no entry. None if it cannot be read."""
    try:
        return Attempt(
            number=int(fields["jo_attempt"]),
            worker=fields["jo_ran_by"].decode(errors="replace"),
            started_at=_at(int(fields["jo_started"])),
            ended_at=_at(int(fields["jo_ended"])),
            outcome=fields["jo_outcome"].decode(errors="replace"),
            error_class=fields.get("jo_error_class", b"").decode(errors="replace"),
            error=fields.get("jo_error", b"").decode(errors="replace")[:BRIEF],
        )
    except (ValueError, KeyError, OverflowError):
        return None


def inflate(data: bytes, limit: int = 4 * 1024 * 1024) -> bytes:
    """RQ deflates payloads and tracebacks, we do not: gives the plain bytes of either, at most ``limit``."""
    try:
        return zlib.decompressobj().decompress(data, limit)
    except zlib.error:
        return data


def _attempt(raw: dict[str, Any]) -> Attempt:
    return Attempt(
        number=int(raw["n"]),
        worker=str(raw.get("worker", "")),
        started_at=_at(int(raw.get("started_at", 0))),
        ended_at=_at(int(raw.get("ended_at", 0))),
        outcome=str(raw.get("outcome", "")),
        error_class=str(raw.get("error_class", "")),
        error=str(raw.get("error", "")),
    )


def _at(ms: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC) if ms else None
    except (ValueError, OverflowError, OSError):
        return None
