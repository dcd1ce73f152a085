"""What a job says of itself, without what is secret in its arguments."""

from __future__ import annotations

from dlq.edits import secrets_of_run
from dlq.own_errors import OWN_ERRORS
from dlq.selectors import letter_of_job
from dlq.text import one_line
from jobops.contracts import masking, registry
from jobops.contracts.secret_values import Secrets
from jobops.engine.errors import InvalidJob
from jobops.engine.payload import decode
from jobops.engine.records import JobView

LONGEST_ERROR = 300
STOPPED = "Stopped"
"""The error's class of a job that a person stopped."""


def secrets_of_job(job: JobView) -> Secrets:
    """What is secret of its arguments; when Redis has forgotten the job, its dead letter has them."""
    if not job.data:
        letter = letter_of_job(job.id) if job.state == "dead" or job.replay_of else None
        return secrets_of_run(letter, job.id) if letter else masking.UNKNOWN_SECRETS
    try:
        _name, args, kwargs = decode(job.data)
    except InvalidJob:
        return masking.UNKNOWN_SECRETS
    return masking.secrets_of(registry.resolve(job.job_type), args, kwargs)


def masked_error(job: JobView, error_class: str, error: str) -> str:
    """``Class: text``, masked; empty without either. The text of a stopped job says already that it was."""
    text = error if not error or error in OWN_ERRORS else masking.masked_text(error, secrets_of_job(job))
    parts = (text,) if error_class == STOPPED and text.startswith("stopped ") else (error_class, text)
    return ": ".join(part for part in parts if part)


def brief_error(job: JobView, error_class: str, error: str) -> str:
    """The same in one line of a sentence's length."""
    return one_line(masked_error(job, error_class, error), LONGEST_ERROR).rstrip(".")
