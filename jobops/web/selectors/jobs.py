"""A job as its page shows it, with what this person may not see masked."""

from __future__ import annotations

import json
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
from jobops.runtime.lookup import lookup, view_of_letter, view_of_run
from jobops.runtime.why import why
from jobops.runtime.why_records import Kind, Why
from jobops.web.job_words import STOPPED
from jobops.web.progress_words import ProgressLine, progress_line
from jobops.web.selectors.attempts import AttemptLine, attempt_lines
from jobops.web.selectors.dead import letter_of_job, run_of_job
from jobops.web.selectors.job_buttons import JobButton, buttons_of
from jobops.web.selectors.letter_arguments import Arguments, arguments_of
from jobops.web.selectors.reach import reading_redis
from jobops.web.values import LONGEST_VALUE, value_text
from jobops.web.why_words import WhyPanel, panel_of
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
    why: WhyPanel | None = None
    progress: ProgressLine | None = None
    checkpoint: str = ""
    buttons: Sequence[JobButton] = ()


def job_page(user: AnyUser, job_id: str) -> JobPage:
    """The job, if this person may see it. Raises ``Http404``, the same for a foreign one and for none at all,
    and ``redis.RedisError``, unless a dead letter tells of the job."""
    if len(job_id) > LONGEST_ID:
        raise Http404(NOT_THERE)
    found: Why | None = None
    try:
        with reading_redis():
            found = why(job_id)
        job, away = found.job if found is not None else None, False
    except RedisError:
        job, away = _from_letter(user, job_id), True
        if job is None:
            raise
    if job is None:
        raise Http404(NOT_THERE)
    tenant, letter, run = _seen_by(user, job)
    page = _page(user, job, tenant, letter)
    ends_in_why = found is not None and any(each.kind in (Kind.CANCELLED, Kind.DROPPED) for each in found.reasons)
    return replace(
        page,
        error="" if ends_in_why else page.error,
        away=away,
        run=run,
        why=panel_of(found, staff=page.staff, slug=tenant.slug if tenant else ""),
        buttons=buttons_of(user, found, tenant) if found is not None else (),
    )


def acted_on(user: AnyUser, job_id: str) -> tuple[JobView, Tenant | None]:
    """The job that this person wants to do something to, and its tenant. Raises as ``job_page``."""
    job = lookup(job_id) if len(job_id) <= LONGEST_ID else None
    if job is None:
        raise Http404(NOT_THERE)
    return job, _seen_by(user, job)[0]


def _seen_by(user: AnyUser, job: JobView) -> tuple[Tenant | None, DeadLetter | None, ReplayRun | None]:
    tenant = tenants_visible_to(user).filter(slug=job.tenant).first() if job.tenant.isprintable() else None
    if tenant is not None and not belongs(job.tenant_uid, tenant):
        tenant = None
    run = run_of_job(user, job.id)
    letter = run.letter if run else letter_of_job(user, job.id)
    # A slug may have been given anew: what died under its former owner is the staff's only.
    is_from_rows = not job.data and (job.state == "dead" or job.replay_of != "")
    if not sees_all(user) and (tenant is None or (is_from_rows and letter is None)):
        raise Http404(NOT_THERE)
    return tenant, letter, run


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
    job = job if staff else _without_our_names(job)
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
        progress=progress_line(job.progress),
        checkpoint=_checkpoint(job, hide, secrets),
    )


def _without_our_names(job: JobView) -> JobView:
    """Who of ours stopped it, and why, is for us."""
    history = tuple(replace(one, error="") if one.outcome == "stopped" else one for one in job.history)
    return replace(job, error="" if job.error_class == STOPPED else job.error, history=history)


def _checkpoint(job: JobView, hide: bool, secrets: Secrets) -> str:
    if not job.checkpoint:
        return ""
    try:
        value = json.loads(job.checkpoint)
    except (ValueError, RecursionError):
        return _text(job.checkpoint, secrets, LONGEST_VALUE)
    return masking.masked_text(value_text(masking.masked_value(value, secrets) if hide else value), secrets)


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
