"""Finding a job wherever it is: in Redis, in the outbox, or in the table of the dead."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from redis.exceptions import RedisError

from dlq.models import DeadLetter, ReplayRun
from dlq.selectors import letter_of_job
from jobops.context.models import OutboxEntry
from jobops.engine.jobs import read_job
from jobops.engine.records import Attempt, JobView
from jobops.runtime.engine import get_engine


def lookup(job_id: str) -> JobView | None:
    """The job as people see it, or None when nothing is kept of it (any more).

    Raises ``redis.RedisError`` only if Redis is away and the outbox does not have the job.
    """
    # Redis first: a row whose push was begun may be there already, and what it says is newer.
    try:
        found = read_job(get_engine(), job_id)
    except RedisError:
        row = OutboxEntry.objects.filter(pk=job_id).first()
        if row is None:
            raise
        return view_of_row(row)
    if found is not None:
        return found
    row = OutboxEntry.objects.filter(pk=job_id).first()
    if row is not None:
        return view_of_row(row)
    run = ReplayRun.objects.filter(job_id=job_id).select_related("letter").first()
    if run is not None:
        return view_of_run(run)
    letter = letter_of_job(job_id)
    return view_of_letter(letter) if letter is not None else _coalesced(job_id)


def view_of_row(row: OutboxEntry) -> JobView:
    """An outbox row as a job: in state ``outbox``, ``coalesced`` or ``cancelled``."""
    pending = row.state in (OutboxEntry.State.WAITING, OutboxEntry.State.PARKED)
    error_class, _, error = row.last_error.partition(": ")
    return JobView(
        id=row.id,
        tenant=row.tenant,
        lane=row.lane,
        queue=row.queue,
        job_type=row.job_type,
        state="outbox" if pending else row.state,
        attempts=0,
        max_attempts=row.max_attempts,
        created_at=row.created_at,
        enqueued_at=row.created_at,
        started_at=None,
        ended_at=row.ended_at,
        due_at=datetime.fromtimestamp(row.due_at_ms / 1000, UTC) if row.due_at_ms else None,
        worker="",
        result=b"",
        error_class=error_class,
        error=error,
        traceback="",
        reason=row.parked_as or row.coalesced_into,
        key=row.key,
        correlation_id=row.correlation_id,
        data=bytes(row.data),
        replay_of=row.replay_of,
        tenant_uid=row.tenant_uid,
        resource=row.resource,
        batch=row.batch,
        checkpoint=bytes(row.checkpoint or b""),
    )


def view_of_letter(letter: DeadLetter) -> JobView:
    """A dead letter as the job it was, for when Redis has forgotten it. Its payload is the letter's to show."""
    return JobView(
        id=letter.job_id,
        tenant=letter.tenant_slug,
        lane=letter.lane,
        queue=letter.queue,
        job_type=letter.job_type,
        state="dead",
        attempts=letter.attempts,
        max_attempts=letter.max_attempts,
        created_at=letter.enqueued_at,
        enqueued_at=letter.enqueued_at,
        started_at=None,
        ended_at=letter.dead_at,
        due_at=None,
        worker="",
        result=b"",
        error_class=letter.error_class,
        error=letter.error,
        traceback=letter.traceback,
        reason=letter.reason,
        key=letter.key,
        correlation_id=letter.correlation_id,
        data=b"",
        history=tuple(_attempt(told) for told in letter.history),
        progress=_progress(letter),
        checkpoint=letter.checkpoint.encode(errors="backslashreplace"),
        checkpoint_at=letter.checkpoint_at,
        batch=letter.batch,
    )


def _progress(letter: DeadLetter) -> tuple[int, int] | None:
    if letter.progress_done is None or letter.progress_total is None:
        return None
    return letter.progress_done, letter.progress_total


_RUN_STATES = {
    ReplayRun.State.SUCCEEDED: "succeeded",
    ReplayRun.State.DISCARDED: "discarded",
    ReplayRun.State.DIED: "dead",
    ReplayRun.State.CANCELLED: "cancelled",
    ReplayRun.State.REFUSED: "cancelled",  # its outbox row was cancelled when its letter opened again
    ReplayRun.State.COALESCED: "coalesced",
}


def view_of_run(run: ReplayRun) -> JobView | None:
    """A replay as the job it was, for when Redis has forgotten it; None if it was lost or nobody knows yet."""
    state = _RUN_STATES.get(ReplayRun.State(run.state))
    if state is None:
        return None
    letter = run.letter
    return replace(
        view_of_letter(letter),
        id=run.job_id,
        state=state,
        attempts=run.attempt,
        created_at=run.started_at,
        enqueued_at=run.started_at,
        ended_at=run.ended_at,
        error_class="",
        error=run.note,
        traceback="",
        reason="",
        history=(),
        progress=None,
        checkpoint=b"",
        replay_of=f"{letter.job_id}:{letter.attempt}",
    )


def _attempt(told: dict[str, Any]) -> Attempt:
    return Attempt(
        number=told.get("n", 0),
        worker=told.get("worker", ""),
        started_at=_instant(told.get("started_at")),
        ended_at=_instant(told.get("ended_at")),
        outcome=told.get("outcome", ""),
        error_class=told.get("error_class", ""),
        error=told.get("error", ""),
    )


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _coalesced(job_id: str) -> JobView | None:
    """A job that Redis took into a live one with the same key: for a day it knows which."""
    engine = get_engine()
    first = engine.redis.get(engine.keys.pushed(job_id))
    if not isinstance(first, bytes) or first.decode() == job_id:
        return None
    found = read_job(engine, first.decode())
    if found is None:
        return None
    return JobView(
        id=job_id,
        tenant=found.tenant,
        lane=found.lane,
        queue=found.queue,
        job_type=found.job_type,
        state="coalesced",
        attempts=0,
        max_attempts=found.max_attempts,
        created_at=None,
        enqueued_at=None,
        started_at=None,
        ended_at=None,
        due_at=None,
        worker="",
        result=b"",
        error_class="",
        error="",
        traceback="",
        reason=found.id,
        key=found.key,
        correlation_id=found.correlation_id,
        data=b"",
    )
