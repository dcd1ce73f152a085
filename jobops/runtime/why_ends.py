"""Jobs that run or have ended: what is to be said of them instead of a reason to wait."""

from __future__ import annotations

from collections.abc import Iterator

from dlq.models import DeadLetter, ReplayRun
from dlq.selectors import letter_of_job
from jobops.engine.records import JobView
from jobops.engine.why_facts import LeaseFacts, WhyFacts
from jobops.runtime.job_texts import brief_error
from jobops.runtime.why_records import Kind, Link, Reason, at

KILL_MS = 15_000
"""A lease is never renewed past its job's time-out and so much for the kill."""

_ENDS = {
    "succeeded": (Kind.SUCCEEDED, "It succeeded."),
    "discarded": (Kind.DISCARDED, "It ended without success, as its contract allows."),
}


def running(facts: WhyFacts, job: JobView) -> Iterator[Reason]:
    """Of a job that has started: by which worker, since when, and whether it is heard of."""
    lease = facts.lease
    if lease is None:
        text = "It is marked as running, and no lease speaks for it; it is found and goes on within a minute or two."
        yield Reason(Kind.LEASE_LOST, text, since=job.started_at, name=job.worker)
        return
    if lease.stop:
        again = ", and is then run again" if lease.stop == "retry" else ""
        note = f": {lease.note}" if lease.note else ""
        yield Reason(Kind.STOPPING, f"It is being stopped{again}{note}.", note=lease.note, by=_by(lease.note))
    of = f"attempt {lease.attempt} of {job.max_attempts}"
    if lease.until_ms <= facts.now_ms:
        text = f"Its worker {lease.worker} has not been heard of: {of} is lost, and the job goes on in a moment."
        yield Reason(Kind.LEASE_LOST, text, since=at(lease.until_ms), name=lease.worker)
        return
    heard = _heard(lease, facts.now_ms)
    text = f"It is running on {lease.worker}: {of}{heard}."
    yield Reason(Kind.RUNNING, text, since=at(lease.started_ms), until=at(lease.until_ms), name=lease.worker)


def _heard(lease: LeaseFacts, now_ms: int) -> str:
    if lease.until_ms >= lease.started_ms + lease.timeout_ms + KILL_MS or not lease.lease_ms:
        return ""  # the last renewals were shorter than a lease: when they were cannot be told from its end
    ago_s = max(0, now_ms - (lease.until_ms - lease.lease_ms)) // 1000
    return f", last heartbeat {ago_s} s ago"


def _by(note: str) -> str:
    return note.removeprefix("stopped by ").partition(":")[0] if note.startswith("stopped by ") else ""


def ended(job: JobView) -> Iterator[Reason]:
    """Of a job that runs no more."""
    if job.state in _ENDS:
        kind, text = _ENDS[job.state]
        yield Reason(kind, text, since=job.ended_at)
    elif job.state == "cancelled":
        is_stopped = job.error_class == "Stopped"
        note = brief_error(job, "", job.error) if is_stopped else ""
        what = "stopped while it ran" if is_stopped else "cancelled before it ran"
        yield Reason(Kind.CANCELLED, f"It was {what}{f': {note}' if note else ''}.", since=job.ended_at, note=note)
    elif job.state == "coalesced":
        text = f"It became part of job {job.reason}, which had the same key and was alive."
        yield Reason(Kind.COALESCED, text, since=job.ended_at, name=job.reason, link=Link("job", job.reason))
    elif job.state == "dead":
        yield _dead(job, letter_of_job(job.id))
    else:
        yield Reason(Kind.UNKNOWN_STATE, f"Its record says “{job.state}”, which is none of our states.")


def _dead(job: JobView, letter: DeadLetter | None) -> Reason:
    attempts = "1 attempt" if job.attempts == 1 else f"{job.attempts} attempts"
    if letter is None:
        return Reason(Kind.DEAD, f"It gave up after {attempts}; its dead letter is being written.", since=job.ended_at)
    state = letter.get_state_display().lower()
    return Reason(
        Kind.DEAD,
        f"It gave up after {attempts}; dead letter {letter.pk} is {state}, owned by {letter.owner}.",
        since=letter.dead_at,
        until=letter.due_at if letter.is_undrained else None,
        name=letter.state,
        link=Link("letter", str(letter.pk)),
    )


def replay_of(job: JobView) -> Iterator[Reason]:
    """Which dead letter it is a replay of."""
    if not job.replay_of:
        return
    run = ReplayRun.objects.filter(job_id=job.id).first()
    if run is not None:
        text = f"It is replay {run.number} of dead letter {run.letter_id}."
        yield Reason(Kind.REPLAY_OF, text, count=run.number, link=Link("letter", str(run.letter_id)))
