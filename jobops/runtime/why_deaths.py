"""Of what a job died, and what became of it then."""

from __future__ import annotations

from dlq.models import DeadLetter
from dlq.second_run import is_unknown
from jobops.contracts.catalog.words import plural
from jobops.engine.records import JobView
from jobops.runtime.job_texts import brief_error
from jobops.runtime.why_records import Kind, Link, Reason

_CAUSES = {
    "exhausted": "It gave up after {attempts}, which is all that it may start",
    "poison": "It gave up at attempt {number}, as a further one would end the same (poison)",
    "timeout": "It gave up after {attempts}; the last one ran into its time-out",
    "worker_lost": "It gave up after {attempts}; the worker of the last one was lost",
    "unresolvable": "It could not be run at all",
}


def death(job: JobView, letter: DeadLetter | None) -> Reason:
    """Why it died, with the error's class and text (masked), and what its dead letter is now. ``name``: the state of
    the letter."""
    cause = _CAUSES.get(job.reason, "It gave up after {attempts}")
    if is_unknown(job.error_class):
        cause = "It stopped at attempt {number}, as nobody knows whether an earlier run took effect"
    told = brief_error(job, job.error_class, job.error)
    text = cause.format(attempts=plural(job.attempts, "attempt"), number=job.attempts) + (f": {told}" if told else "")
    if letter is None:
        return Reason(Kind.DEAD, f"{text}. Its dead letter is being written.", since=job.ended_at, note=told)
    state = letter.get_state_display().lower()
    return Reason(
        Kind.DEAD,
        f"{text}. Dead letter {letter.pk} is {state}, owned by {letter.owner}.",
        since=letter.dead_at,
        until=letter.due_at if letter.is_undrained else None,
        note=told,
        name=letter.state,
        link=Link("letter", str(letter.pk)),
    )
