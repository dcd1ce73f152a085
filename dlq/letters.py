"""From a death as the engine tells it to the letter that people read. Reads any bytes, and writes nothing."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from dlq.foreign.names import may_be_foreign
from dlq.models import DeadLetter, Reason
from dlq.own_errors import ARGUMENTS_GONE, RECORD_GONE
from dlq.ownership import DEFAULT_DRAIN_SLA
from dlq.text import capped, one_line, visible
from jobops.contracts.error_text import storable_json
from jobops.engine.errors import InvalidJob
from jobops.engine.jobs import inflate
from jobops.engine.keys import split_queue
from jobops.engine.payload import decode_result
from jobops.engine.records import Death
from jobops.engine.validation import CHECKPOINT_LIMIT

ERROR_LENGTH = 4096
TRACEBACK_LENGTH = 65536
ATTEMPT_ERROR_LENGTH = 1024
JOB_ID_LENGTH = 200
MAX_INTEGER = 2**31 - 1

Fields = Mapping[bytes, bytes]

_REASONS = {reason.value: reason for reason in Reason}


def letter_of(death: Death) -> DeadLetter:
    """The letter of a death; a placeholder if the job's record, or the heart of it, is gone.

    May raise on a record so odd that nobody thought of it: then ``placeholder_of`` tells what is known.
    """
    fields = death.fields
    letter = _bare(death)
    if b"data" in fields:
        letter.payload, letter.payload_raw = payload_of(fields[b"data"])
    else:
        letter.placeholder = True
    reason = visible(fields.get(b"jo_reason", b""))
    letter.reason = _REASONS.get(reason, Reason.UNKNOWN)
    letter.error_class = one_line(fields.get(b"jo_error_class", b""), 255)
    letter.error = capped(fields.get(b"jo_error", b"") or _what_is_missing(fields), ERROR_LENGTH)
    letter.traceback = capped(inflate(fields.get(b"exc_info", b"")), TRACEBACK_LENGTH)
    letter.attempts = _integer(fields.get(b"jo_attempt"), letter.attempt)
    letter.max_attempts = _integer(fields.get(b"jo_max_attempts"), 0)
    letter.history = history_of(fields)
    letter.enqueued_at = _instant(fields.get(b"jo_enqueued"))
    letter.correlation_id = one_line(fields.get(b"jo_correlation", b""), 200)
    letter.key = one_line(fields.get(b"jo_key", b""), 200)
    letter.batch = one_line(fields.get(b"jo_batch", b""), 64)
    letter.checkpoint = _checkpoint(fields.get(b"jo_state", b""))
    letter.checkpoint_at = _instant(fields.get(b"jo_state_at")) if letter.checkpoint else None
    letter.progress_done, letter.progress_total = _progress(fields)
    return letter


def placeholder_of(death: Death, problem: str, *, with_data: bool = True) -> DeadLetter:
    """What can always be stored: who and when, and the record's bytes as escaped text instead of its meaning.

    ``with_data=False`` leaves out the job's data too, for when that is what the database refuses.
    """
    letter = _bare(death)
    letter.placeholder = True
    letter.error_class = "UnstorableDeath"
    letter.error = capped(f"This death could not be stored as it was ({problem}). Its record follows, escaped.", 1000)
    if with_data:
        letter.payload_raw = death.fields.get(b"data")
    record = "\n".join(f"{key!r}: {value!r}" for key, value in sorted(death.fields.items()) if key != b"data")
    letter.traceback = capped(record, TRACEBACK_LENGTH)
    return letter


def history_of(fields: Fields) -> list[dict[str, Any]]:
    """Every attempt that the record tells of, the first one first; an unreadable one stays, as its text."""
    numbered = []
    for field, value in fields.items():
        if field.startswith(b"attempt:"):
            number = _integer(field.removeprefix(b"attempt:"), 0)
            numbered.append((number, _attempt(number, value)))
    return [attempt for _, attempt in sorted(numbered, key=lambda pair: pair[0])]


def identity(job_id: str) -> str:
    """The job's id as it is stored; one that does not fit is cut and told apart by a digest."""
    # Whatever a record of ours says, only letters of other installations are called like theirs.
    return identity_of_foreign(f"~{job_id}" if may_be_foreign(job_id) else job_id)


def identity_of_foreign(job_id: str) -> str:
    """The same for what ``dlq.foreign.names`` calls a job of another installation."""
    shown = visible(job_id)
    if shown == job_id and len(job_id) <= JOB_ID_LENGTH:
        return job_id
    digest = hashlib.sha256(job_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{shown[:160]}~{digest}"


def _bare(death: Death) -> DeadLetter:
    job_type = one_line(death.fields.get(b"jo_type", b""), 255)
    queue = one_line(death.fields.get(b"origin", b""), 120)
    try:
        slug, lane = split_queue(queue)
    except ValueError:
        slug, lane = "", ""
    dead_at = _instant(death.died_at_ms) or timezone.now()
    letter = DeadLetter(
        job_id=identity(death.job_id),
        attempt=max(0, min(death.attempt, MAX_INTEGER)),
        attempts=max(0, min(death.attempt, MAX_INTEGER)),
        job_type=job_type,
        queue=queue,
        tenant_slug=slug[:50],
        lane=lane[:50],
        reason=Reason.UNKNOWN,
        # Until it is stored, when it is decided whose it is (``dlq.owners.deciding``).
        owner=settings.JOBOPS_DEFAULT_OWNER,
        dead_at=dead_at,
        due_at=dead_at + DEFAULT_DRAIN_SLA,
    )
    # For the intake, which looks its tenant up: the slug alone may be another customer's by now.
    letter.tenant_uid = visible(death.fields.get(b"jo_tenant_uid", b""))
    return letter


def payload_of(data: bytes) -> tuple[str, bytes | None]:
    """The arguments as JSON text, as they travelled (tags and all); or nothing, and the bytes as they are."""
    try:
        _name, _instance, args, kwargs = json.loads(inflate(data), parse_constant=_no_constant)
        if not (isinstance(args, list) and isinstance(kwargs, dict)):
            return "", data
        text = json.dumps({"args": args, "kwargs": kwargs}, ensure_ascii=False, allow_nan=False)
        return storable_json(text), None
    except (ValueError, TypeError, RecursionError):
        return "", data


def _checkpoint(state: bytes) -> str:
    """What a replay resumes from, as it was saved; empty if it is none of ours. Half of it would be another place."""
    if not 0 < len(state) <= CHECKPOINT_LIMIT:
        return ""
    try:
        decode_result(state, "checkpoint")
        return storable_json(state.decode())
    except (InvalidJob, ValueError):
        return ""


def _progress(fields: Fields) -> tuple[int | None, int | None]:
    told = (fields.get(b"jo_done", b""), fields.get(b"jo_total", b""))
    if not all(text.isdigit() and len(text) < 17 for text in told):
        return None, None
    return int(told[0]), int(told[1])


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _what_is_missing(fields: Fields) -> str:
    if not fields:
        return RECORD_GONE
    if b"data" not in fields:
        return ARGUMENTS_GONE
    return ""


def _attempt(number: int, value: bytes) -> dict[str, Any]:
    try:
        told = json.loads(value.decode("utf-8", "surrogateescape"))
        if not isinstance(told, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError):
        return {"n": number, "error": capped(value, ATTEMPT_ERROR_LENGTH)}
    started, ended = _instant(told.get("started_at")), _instant(told.get("ended_at"))
    return {
        "n": number,
        "worker": one_line(str(told.get("worker") or ""), 255),
        "started_at": started.isoformat() if started else None,
        "ended_at": ended.isoformat() if ended else None,
        "outcome": one_line(str(told.get("outcome") or ""), 50),
        "error_class": one_line(str(told.get("error_class") or ""), 255),
        "error": capped(str(told.get("error") or ""), ATTEMPT_ERROR_LENGTH),
    }


def _integer(value: bytes | None, default: int) -> int:
    try:
        return max(0, min(int(value or default), MAX_INTEGER))
    except ValueError:
        return default


def _instant(ms: bytes | float | None) -> datetime | None:
    """Aware UTC time of epoch milliseconds; None for what is no time."""
    try:
        return datetime.fromtimestamp(float(ms) / 1000, UTC) if ms else None
    except (ValueError, TypeError, OverflowError, OSError):
        return None
