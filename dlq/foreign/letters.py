"""From the record of a foreign job's failure to its letter. Reads any bytes, unpickles none.

The arguments of a JSON payload are stored like our own, and masked where they are shown. Those of any other payload
stay closed: what they hold is taken out of the stored error here, once and for all.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.utils import timezone

from dlq.foreign.failures import Failure, failure_of
from dlq.foreign.names import job_id_of
from dlq.foreign.pickled import read_pickle
from dlq.foreign.records import EPOCH, Record, instant
from dlq.letters import ERROR_LENGTH, TRACEBACK_LENGTH, identity_of_foreign, payload_of
from dlq.models import DeadLetter, Reason
from dlq.ownership import DEFAULT_DRAIN_SLA
from dlq.text import capped, one_line
from jobops.contracts import masking
from jobops.contracts.secret_values import Secrets
from tenants.models import Tenant

log = logging.getLogger(__name__)

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*(?::[\w.]+)?")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
_SAID_NOTHING = "What went wrong is not in its record."


def letter_of(record: Record, source: str, attempt: int = 1, tenant: Tenant | None = None) -> DeadLetter:
    """The letter of this failure, not saved. ``attempt``: which failure of the job that is, among its letters."""
    try:
        payload, function, hide = _opened(record, record.data())
        failure = failure_of(record.exception(), hide)
    except Exception:  # whatever one record holds, the others must not wait for it
        log.exception("the record of %s at %s cannot be read", record.rq_id, source)
        payload, function, failure = "", "", Failure(Reason.UNKNOWN, "UnreadableFailure", "", "")
    now, failed_at = timezone.now(), record.failed_at
    # A clock that is ahead, at the source, makes no letter of tomorrow.
    dead_at = now if failed_at <= EPOCH else min(failed_at, now)
    job_type = one_line(function, 255)
    runs = record.number("number_of_retries") + 1
    letter = DeadLetter(
        job_id=identity_of_foreign(job_id_of(source, record.rq_id)),
        attempt=attempt,
        queue=one_line(record.queue, 120),
        job_type=job_type,
        payload=payload,
        tenant_slug=tenant.slug if tenant is not None else "",
        reason=failure.reason,
        error_class=one_line(failure.error_class, 255),
        error=capped(failure.error or ("" if failure.error_class else _SAID_NOTHING), ERROR_LENGTH),
        traceback=capped(failure.traceback, TRACEBACK_LENGTH),
        attempts=runs,
        max_attempts=runs + record.number("retries_left"),
        history=[_attempt(record, runs, failure)],
        enqueued_at=instant(record.fields.get(b"enqueued_at", b"")),
        correlation_id=one_line(record.rq_id, 200),
        # Until it is stored, when it is decided whose it is (``dlq.owners.deciding``).
        owner=settings.JOBOPS_DEFAULT_OWNER,
        dead_at=dead_at,
        due_at=dead_at + DEFAULT_DRAIN_SLA,
    )
    letter.tenant_uid = str(tenant.pk) if tenant is not None else ""
    return letter


def error_of(record: Record) -> str:
    """The class of the failure's error, for counting."""
    failure = failure_of(record.exception())
    return one_line(failure.error_class, 255) or "unknown"


def _opened(record: Record, data: bytes) -> tuple[str, str, Callable[[str], str]]:
    """The payload as stored text, the function's name, and how to take what is secret out of what was said."""
    payload, _raw = payload_of(data)
    if payload:
        name = json.loads(data)[0]
        return payload, name if isinstance(name, str) else _described(record), lambda text: text
    pickled = read_pickle(data)
    if pickled is None:
        # Whatever serializer it was: nobody knows what is secret.
        return "", _described(record), lambda text: masking.masked_text(text, masking.UNKNOWN_SECRETS)
    secrets = Secrets(form for value in pickled.values for form in _forms(value))
    function = pickled.function if _PATH.fullmatch(pickled.function) else _described(record)
    return "", function, lambda text: masking.masked_text(text, secrets)


def _forms(value: str) -> set[str]:
    """As it stands in a text, and in the ``repr`` of one."""
    return {value, repr(value)[1:-1], json.dumps(value)[1:-1]}


def _described(record: Record) -> str:
    """The function's name by the description that RQ makes of a call; empty where somebody wrote another one."""
    name, bracket, _ = record.text("description").partition("(")
    return name if bracket and _FUNCTION.fullmatch(name) else ""


def _attempt(record: Record, number: int, failure: Failure) -> dict[str, Any]:
    started, ended = (instant(record.fields.get(name, b"")) for name in (b"started_at", b"ended_at"))
    return {
        "n": number,
        "worker": one_line(record.result.get(b"worker_name") or record.fields.get(b"worker_name", b""), 255),
        "started_at": started.isoformat() if started else None,
        "ended_at": ended.isoformat() if ended else None,
        "outcome": failure.reason.value if failure.reason.value in ("worker_lost", "timeout") else "failed",
        "error_class": one_line(failure.error_class, 255),
        "error": capped(failure.error, 1024),
    }
