"""A job as its page shows it, with what this person may not see masked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.http import Http404
from django.utils import timezone
from redis.exceptions import RedisError

from dlq.models import DeadLetter, ReplayRun
from dlq.own_errors import OWN_ERRORS
from dlq.payloads import Stored, stored_arguments
from dlq.text import capped, visible
from jobops.contracts import masking, registry
from jobops.contracts.job_type import JobType
from jobops.contracts.secret_values import Secrets
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode, decode_result
from jobops.engine.records import JobView
from jobops.runtime import lookup
from jobops.runtime.lookup import view_of_letter, view_of_run
from jobops.web.selectors.attempts import AttemptLine, attempt_lines
from jobops.web.selectors.dead import letter_of_job, run_of_job
from jobops.web.selectors.letter_arguments import Arguments, arguments_of
from jobops.web.selectors.reach import reading_redis
from jobops.web.values import LONGEST_VALUE, value_text
from tenants.access import AnyUser, masked, sees_all, tenants_visible_to
from tenants.models import Tenant
from tenants.policy import belongs

LONGEST_ID = 200
LONGEST_TEXT = 64 * 1024
NOT_THERE = "No such job."


@dataclass(frozen=True, slots=True)
class JobPage:
    """All that the page shows. ``arguments`` None: they cannot be read. ``error`` and ``traceback`` are masked.

    ``away``: Redis could not be asked, and this is what the job's dead letter tells. ``run``: the job is this replay of
    the letter.
    """

    job: JobView
    tenant: Tenant | None
    staff: bool
    is_masked: bool
    job_type: JobType | None
    arguments: Arguments | None
    error: str
    traceback: str
    result: str
    attempts: Sequence[AttemptLine]
    letter: DeadLetter | None
    read_at: datetime
    away: bool = False
    run: ReplayRun | None = None


def job_page(user: AnyUser, job_id: str) -> JobPage:
    """The job, if this person may see it. Raises ``Http404``, the same for a foreign one and for none at all,
    and ``redis.RedisError``, unless a dead letter tells of the job."""
    if len(job_id) > LONGEST_ID:
        raise Http404(NOT_THERE)
    try:
        with reading_redis():
            job, away = lookup(job_id), False
    except RedisError:
        job, away = _from_letter(user, job_id), True
        if job is None:
            raise
    if job is None:
        raise Http404(NOT_THERE)
    tenant = tenants_visible_to(user).filter(slug=job.tenant).first() if job.tenant.isprintable() else None
    if tenant is not None and not belongs(job.tenant_uid, tenant):
        tenant = None
    run = run_of_job(user, job_id)
    letter = run.letter if run else letter_of_job(user, job_id)
    # A slug may have been given anew: what died under its former owner is the staff's only.
    is_from_rows = not job.data and (job.state == "dead" or job.replay_of != "")
    if not sees_all(user) and (tenant is None or (is_from_rows and letter is None)):
        raise Http404(NOT_THERE)
    return replace(_page(user, job, tenant, letter), away=away, run=run)


def _from_letter(user: AnyUser, job_id: str) -> JobView | None:
    run = run_of_job(user, job_id)
    if run is not None:
        return view_of_run(run)
    letter = letter_of_job(user, job_id)
    return view_of_letter(letter) if letter is not None else None


def _page(user: AnyUser, job: JobView, tenant: Tenant | None, letter: DeadLetter | None) -> JobPage:
    job_type = registry.resolve(job.job_type)
    hide = masked(user, tenant)
    payload = _payload(job, letter)
    secrets = _secrets(job_type, payload) if hide else masking.NO_SECRETS
    shown = masking.shown_arguments(job_type, *payload, mask=hide, secrets=secrets) if payload else None
    staff, now = sees_all(user), timezone.now()
    return JobPage(
        job=job,
        tenant=tenant,
        staff=staff,
        is_masked=hide,
        job_type=job_type,
        arguments=arguments_of(shown),
        error=job.error if job.error in OWN_ERRORS else _text(job.error, secrets, LONGEST_VALUE),
        traceback=_text(job.traceback, secrets, LONGEST_TEXT) if staff else "",
        result=_result(job, hide, secrets),
        attempts=attempt_lines(job, job_type, secrets, now),
        letter=letter,
        read_at=now,
    )


def _payload(job: JobView, letter: DeadLetter | None) -> Stored | None:
    """Positional and keyword arguments; None for those that cannot be read."""
    if not job.data:
        return stored_arguments(letter.payload) if letter is not None else None
    try:
        _, args, kwargs = decode(job.data)
    except InvalidJob:
        return None
    return args, kwargs


def _secrets(job_type: JobType | None, payload: Stored | None) -> Secrets:
    return masking.UNKNOWN_SECRETS if payload is None else masking.secrets_of(job_type, *payload)


def _text(text: str | bytes, secrets: Secrets, limit: int) -> str:
    # Masked before it is cut: half a secret would not be found.
    return capped(masking.masked_text(visible(text), secrets), limit)


def _result(job: JobView, hide: bool, secrets: Secrets) -> str:
    if job.state != "succeeded" or not job.result:
        return ""
    try:
        value = decode_result(job.result)
    except (InvalidJob, ValueError):
        return _text(job.result, secrets, LONGEST_VALUE)
    return masking.masked_text(value_text(masking.masked_value(value, secrets) if hide else value), secrets)
