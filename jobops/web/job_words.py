"""A job's state in a sentence, and how each of its attempts ended. Pure."""

from __future__ import annotations

from datetime import datetime

from jobops.engine.records import JobView
from jobops.web.formats import duration, plural, run_time
from jobops.web.words import Look

STATES = {
    "queued": Look("Waiting", "clock", "hold"),
    "waiting": Look("Waiting for a limit", "clock-pause", "hold"),
    "scheduled": Look("Scheduled", "hourglass", "hold"),
    "started": Look("Running", "player-play", "accent"),
    "succeeded": Look("Succeeded", "circle-check", "ok"),
    "discarded": Look("Discarded", "trash", "calm"),
    "dead": Look("Gave up", "x", "danger"),
    "cancelled": Look("Cancelled", "ban", "calm"),
    "outbox": Look("In the outbox", "clock-pause", "hold"),
    "coalesced": Look("Joined another", "link", "calm"),
}
OUTCOMES = {
    "succeeded": Look("Succeeded", "circle-check", "ok"),
    "retry": Look("Failed, tried again", "x", ""),
    "released": Look("Given back by a stopping worker", "arrow-narrow-right", ""),
    "discarded": Look("Discarded by its contract", "trash", ""),
    "error": Look("Failed", "x", ""),
    "poison": Look("Poison: would never succeed", "x", ""),
    "unresolvable": Look("No such job type", "x", ""),
    "timeout": Look("Timed out", "hourglass", ""),
    "worker_lost": Look("Worker lost", "bolt", ""),
    "stopped": Look("Stopped by a person", "player-stop", ""),
    "postponed": Look("Told to come later", "hourglass", ""),
    "": Look("Still running", "player-play", "accent"),
}
OWN_OUTCOMES = OUTCOMES | {
    "released": Look("Interrupted, and begun again", "arrow-narrow-right", ""),
    "discarded": Look("Ended without a result", "trash", ""),
    "poison": Look("Trying again would not have helped", "x", ""),
    "unresolvable": Look("Not known to us any more", "x", ""),
    "timeout": Look("Took too long", "hourglass", ""),
    "worker_lost": Look("Broken off", "bolt", ""),
    "stopped": Look("Stopped by our team", "player-stop", ""),
    "postponed": Look("Put off for a while", "hourglass", ""),
}
STOPPED = "Stopped"
"""The error's class of a job that a person stopped; who and why are in its text."""
REASONS = {
    "exhausted": "Attempts spent",
    "poison": "Poison",
    "worker_lost": "Worker lost",
    "timeout": "Timed out",
    "unresolvable": "No such job type",
}


def look_of(state: str) -> Look:
    """How a state looks; one that is not ours is shown as it is."""
    return STATES.get(state) or Look(state or "Unknown", "help-circle", "hold")


def outcome_of(outcome: str, *, staff: bool = True) -> Look:
    """How an attempt's end looks; for a tenant's people without our own words."""
    return (OUTCOMES if staff else OWN_OUTCOMES).get(outcome) or Look(outcome, "x", "")


def plain_name(job_type: str) -> str:
    """A job type in words for people who do not know the code: ``shop.jobs.send_invoice`` → ``Send invoice``."""
    words = job_type.rpartition(".")[2].replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words else "Job"


def job_title(job: JobView, now: datetime, *, staff: bool) -> str:
    """The page in one sentence."""
    name = job.job_type.rpartition(".")[2] or "This job" if staff else plain_name(job.job_type)
    ran = (job.ended_at - job.started_at).total_seconds() if job.ended_at and job.started_at else None
    since = (now - job.started_at).total_seconds() if job.started_at else None
    limit = job.waits_for.removeprefix("type:") if staff else ""
    waits = (now - job.enqueued_at).total_seconds() if job.enqueued_at else None
    due = (job.due_at - now).total_seconds() if job.due_at else None
    again = "runs again" if job.attempts else "runs"
    gave_up = "gave up after" if staff else "did not work; tried"
    sentences = {
        "queued": f"{name} waits" + (f", for {duration(waits)}" if waits is not None else ""),
        "waiting": f"{name} waits for {limit or 'its turn'}"
        + (f", for {duration(waits)}" if waits is not None else ""),
        "scheduled": f"{name} {again} in {duration(due)}" if due and due > 0 else f"{name} {again} in a moment",
        "started": f"{name} is running" + (f", for {duration(since)}" if since is not None else ""),
        "succeeded": f"{name} succeeded" + (f" in {run_time(ran)}" if ran is not None else ""),
        "discarded": f"{name} ended without success, as its contract allows",
        "dead": f"{name} {gave_up} {plural(job.attempts, 'attempt' if staff else 'time')}",
        "cancelled": f"{name} was {'stopped' if job.error_class == STOPPED else 'cancelled'}",
        "outbox": f"{name} is on its way to the queue",
        "coalesced": f"{name} joined a job with the same key",
    }
    return sentences.get(job.state, f"{name}: {look_of(job.state).word}")
