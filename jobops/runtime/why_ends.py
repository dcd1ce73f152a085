"""Jobs that run or have ended: what is to be said of them instead of a reason to wait."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dlq.models import ReplayRun
from dlq.selectors import letter_of_job
from jobops.audit.models import AuditEntry
from jobops.engine.records import JobView
from jobops.engine.why_facts import LeaseFacts, WhyFacts
from jobops.runtime.job_texts import brief_error
from jobops.runtime.why_deaths import death
from jobops.runtime.why_records import Kind, Link, Reason, at

KILL_MS = 15_000
"""A lease is never renewed past its job's time-out and so much for the kill."""

_ENDS = {
    "succeeded": (Kind.SUCCEEDED, "It succeeded."),
    "discarded": (Kind.DISCARDED, "It ended without success, as its contract allows."),
}
_STOPPED_BY = re.compile(r"stopped by (\S+)(?:: (.*))?", re.DOTALL)
_TOOK_ITS_PLACE = re.compile(r"job (\S+) of the same key took its place at the depth limit")


def running(facts: WhyFacts, job: JobView) -> Iterator[Reason]:
    """Of a job that has started: by which worker, since when, and whether it is heard of."""
    lease = facts.lease
    if lease is None:
        text = "It is marked as running, and no lease speaks for it; it is found and goes on within a minute or two."
        yield Reason(Kind.LEASE_LOST, text, since=job.started_at, name=job.worker)
        return
    if lease.stop:
        again = ", to be run again" if lease.stop == "retry" else ""
        by, why = _note_of(lease.note)
        text = f"It is being stopped{f' by {by}' if by else ''}{again}{f': {why}' if why else ''}."
        yield Reason(Kind.STOPPING, text, note=why, by=by)
    of = f"attempt {lease.attempt} of {job.max_attempts}"
    if lease.until_ms <= facts.now_ms:
        text = f"Its worker {lease.worker} has not been heard of: {of} is lost, and the job goes on in a moment."
        yield Reason(Kind.LEASE_LOST, text, since=at(lease.until_ms), name=lease.worker)
        return
    heard = _heard(lease, facts.now_ms)
    times_out = at(lease.started_ms + lease.timeout_ms) if lease.timeout_ms else None
    yield Reason(
        Kind.RUNNING, f"It is running on {lease.worker}: {of}{heard}.", since=at(lease.started_ms),
        until=at(lease.until_ms), name=lease.worker, times_out_at=times_out,
    )  # fmt: skip


def _heard(lease: LeaseFacts, now_ms: int) -> str:
    if lease.until_ms >= lease.started_ms + lease.timeout_ms + KILL_MS or not lease.lease_ms:
        return ""  # the last renewals were shorter than a lease: when they were cannot be told from its end
    ago_s = max(0, now_ms - (lease.until_ms - lease.lease_ms)) // 1000
    return f", last heartbeat {ago_s} s ago"


def _note_of(note: str) -> tuple[str, str]:
    """Who stopped it, and why; who is empty where the note is of another form."""
    found = _STOPPED_BY.fullmatch(note)
    return (found[1], (found[2] or "").rstrip(".")) if found else ("", note.rstrip("."))


def ended(job: JobView) -> Iterator[Reason]:
    """Of a job that runs no more."""
    if job.state in _ENDS:
        kind, text = _ENDS[job.state]
        yield Reason(kind, text, since=job.ended_at)
    elif job.state == "cancelled":
        yield _cancelled(job)
    elif job.state == "coalesced":
        text = f"It became part of job {job.reason}, which had the same key and was alive."
        yield Reason(Kind.COALESCED, text, since=job.ended_at, name=job.reason, link=Link("job", job.reason))
    elif job.state == "dead":
        yield death(job, letter_of_job(job.id))
    else:
        yield Reason(Kind.UNKNOWN_STATE, f"Its record says “{job.state}”, which is none of our states.")


def _cancelled(job: JobView) -> Reason:
    if job.error_class == "Stopped":
        by, why = _note_of(brief_error(job, "", job.error))
        text = f"It was stopped{f' by {by}' if by else ''} while it ran{f': {why}' if why else ''}."
        return Reason(Kind.CANCELLED, text, since=job.ended_at, by=by, note=why)
    if job.error_class == "Dropped":
        found = _TOOK_ITS_PLACE.fullmatch(job.error)
        by = found[1] if found else ""
        to = f"job {by}, a newer one of its key" if by else "a newer job of its key"
        text = f"It gave way to {to}, as its tenant was at its depth limit (drop_oldest)."
        link = Link("job", by) if by else None
        return Reason(Kind.DROPPED, text, since=job.ended_at, by=by, name=by, link=link)
    row = AuditEntry.objects.filter(target_kind="job", target_id=job.id, action="job.cancel").order_by("-id").first()
    who, why = (row.actor, row.reason.rstrip(".")) if row is not None else ("", "")
    text = f"It was cancelled{f' by {who}' if who else ''} before it ran{f': {why}' if why else ''}."
    return Reason(Kind.CANCELLED, text, since=job.ended_at, by=who, note=why)


def replay_of(job: JobView) -> Iterator[Reason]:
    """Which dead letter it is a replay of."""
    if not job.replay_of:
        return
    run = ReplayRun.objects.filter(job_id=job.id).first()
    if run is not None:
        text = f"It is replay {run.number} of dead letter {run.letter_id}."
        yield Reason(Kind.REPLAY_OF, text, count=run.number, link=Link("letter", str(run.letter_id)))
