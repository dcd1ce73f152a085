"""Jobs as commands show them: the rows and documents that scripts rely on, with what is secret masked."""

from __future__ import annotations

import json
from typing import Any

from dlq.selectors import letter_of_job
from jobops.contracts import masking
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode_result
from jobops.engine.records import JobView
from jobops.management.base import iso
from jobops.runtime.job_texts import masked_error, secrets_of_job
from jobops.runtime.why_records import Reason, Why, at


def summary(job: JobView) -> dict[str, Any]:
    """A job as a row of a list, with what is secret masked."""
    return {
        "id": job.id,
        "tenant": job.tenant,
        "job": job.job_type,
        "queue": job.queue,
        "state": job.state,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "enqueued_at": iso(job.enqueued_at),
        "due_at": iso(job.due_at),
        "started_at": iso(job.started_at),
        "ended_at": iso(job.ended_at),
        "error": masked_error(job, job.error_class, job.error) or None,
    }


def details(job: JobView) -> dict[str, Any]:
    """All that scripts rely on of one job."""
    letter = letter_of_job(job.id)
    row = summary(job)
    row["result"] = _result(job)
    row["dead_letter"] = letter.pk if letter else None
    row["reason"] = job.reason or None
    row["key"] = job.key or None
    row["correlation_id"] = job.correlation_id or None
    row["worker"] = job.worker or None
    row["progress"] = {"done": job.progress[0], "total": job.progress[1]} if job.progress else None
    row["checkpoint"] = _checkpoint(job)
    row["waits_for"] = job.waits_for or None
    row["resource"] = job.resource or None
    row["batch"] = job.batch or None
    return row


def answer(found: Why) -> dict[str, Any]:
    """Why a job is where it is, for scripts."""
    return {
        "id": found.id,
        "state": found.state,
        "headline": found.headline,
        "reasons": [_reason(reason) for reason in found.reasons],
        "expected_start": iso(found.expected_start),
        "estimate": found.estimate or None,
        "actions": list(found.actions),
        "helps": [{"action": one.action, "what": one.what, "command": one.command or None} for one in found.helps],
    }


def _reason(reason: Reason) -> dict[str, Any]:
    return {
        "kind": reason.kind.value,
        "text": reason.text,
        "until": iso(reason.until),
        "by": reason.by or None,
        "since": iso(reason.since),
        "times_out_at": iso(reason.times_out_at),
        "name": reason.name or None,
        "count": reason.count,
        "holders": [
            {"job": one.job_id, "worker": one.worker, "since": iso(at(one.since_ms))} for one in reason.holders
        ],
        "more": reason.more,
    }


def _checkpoint(job: JobView) -> Any:
    if not job.checkpoint:
        return None
    try:
        state = json.loads(job.checkpoint)
    except (ValueError, RecursionError):
        return masking.masked_text(job.checkpoint.decode(errors="backslashreplace"), secrets_of_job(job))
    return masking.masked_value(state, secrets_of_job(job))


def _result(job: JobView) -> Any:
    """The result as JSON; what is not one of ours is shown as the text it is."""
    if not job.result:
        return None
    try:
        result = decode_result(job.result)
    except InvalidJob:
        result = job.result.decode(errors="backslashreplace")
    return masking.masked_value(result, secrets_of_job(job))
