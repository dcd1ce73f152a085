"""The audit in words for a tenant's people, the same as on their other pages: no part of the machine, and no name of
ours. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dlq.models import BulkAction, ReplayRun, State
from jobops.audit.changes import Changed, changes_of
from jobops.audit.models import AuditEntry
from jobops.web.formats import plural
from jobops.web.job_words import look_of, plain_name
from jobops.web.letter_page_words import OWN_LOOKS

OUR_TEAM = "Our team"

# What was done; {} is the target.
DONE = {
    "letter.replay": "tried {} again",
    "letter.discard": "gave up on {}",
    "letter.undo": "took back that {} was given up",
    "letter.cancel": "stopped the new try of {}",
    "letter.resolve": "{} worked when it was tried again",
    "letter.take": "took {} on",
    "letter.assign": "passed {} on",
    "letter.give_back": "gave {} back",
    "letter.clock_pause": "put off until when {} must be dealt with",
    "letter.clock_resume": "no longer put off until when {} must be dealt with",
    "letter.mend": "put {} right",
    "letter.edit_refused": "was refused a change of {}",
    "batch.cancel": "cancelled batch {}",
    "tenant.create": "took {} on",
    "tenant.set": "changed {}",
    "tenant.pause": "paused {}",
    "tenant.resume": "resumed {}",
    "tenant.cancel_jobs": "cancelled the waiting jobs of {}",
    "tenant.mend": "put {} right",
    "policy.repair": "put the limits of {} in force again",
    "job.enqueue": "sent in job {} by hand",
    "job.cancel": "cancelled job {}",
    "job.stop": "stopped job {}, which ran",
    "job.run_now": "let job {} start before its time",
    "job.unpark": "sent job {} on its way again",
    "job.mend": "put job {} right",
    "queue.repair": "let jobs go on that had been broken off",
    "queue.mend": "put what waits in order",
    "membership.set": "set the role of {}",
    "membership.end": "ended the role of {}",
}
_BULK = {
    ("confirm", BulkAction.Kind.REPLAY): "began to try {} again",
    ("confirm", BulkAction.Kind.DISCARD): "began to give up {}",
    ("confirm", BulkAction.Kind.UNDO): "began to take {} back",
    ("cancel", BulkAction.Kind.REPLAY): "cancelled trying {} again",
    ("cancel", BulkAction.Kind.DISCARD): "cancelled giving up {}",
    ("cancel", BulkAction.Kind.UNDO): "cancelled taking {} back",
    ("pause", BulkAction.Kind.REPLAY): "paused trying {} again",
    ("resume", BulkAction.Kind.REPLAY): "went on trying {} again",
    ("speed", BulkAction.Kind.REPLAY): "changed how fast {} are tried again",
    ("canary", BulkAction.Kind.REPLAY): "went on trying {} again, as the first ones worked",
    ("finish", BulkAction.Kind.REPLAY): "sent {} back to run",
    ("finish", BulkAction.Kind.DISCARD): "gave up {}",
    ("finish", BulkAction.Kind.UNDO): "took {} back",
}
UNTOLD = "changed something"

CHOICES = {
    "letter.replay": "Tried again",
    "letter.discard": "Gave up",
    "letter.undo": "Took back",
    "letter.resolve": "Worked when tried again",
    "bulk": "Many jobs at once",
    "job.cancel": "Cancelled a job",
    "tenant.set": "Changed limits",
    "tenant.pause": "Paused",
    "tenant.resume": "Resumed",
    "membership": "Roles of people",
}
"""What the filter offers."""


def _letter_state(value: Any) -> str:
    return OWN_LOOKS[State(value)].word.lower() if value in State.values else str(value)


def _job_state(value: Any) -> str:
    return look_of(str(value)).word.lower()


# Field → how it is called, and how its value is. What is not here is of no use to them.
_Fields = Mapping[str, tuple[str, Callable[[Any], Any]]]
_TENANT: _Fields = {
    "name": ("name", lambda value: value),
    "cap": ("running at once, at most", lambda value: value),
    "rate": ("starts, at most", lambda value: value),
    "depth_limit": ("waiting, at most", lambda value: value),
    "intake_closed": ("takes new jobs", lambda value: not value),
    "paused": ("paused", lambda value: value),
    "may_pause": ("admins may pause", lambda value: value),
    "may_replay": ("admins may try again", lambda value: value),
    "cancelled": ("cancelled", lambda value: value),
}
_FIELDS: Mapping[str, _Fields] = {
    "letter": {"state": ("", _letter_state)},
    "job": {"state": ("", _job_state)},
    "bulk": {"done": ("done", lambda value: value), "skipped": ("left out", lambda value: value)},
    "tenant": _TENANT,
    "queue": {"recovered": ("jobs", lambda value: value)},
    "membership": {"role": ("role", lambda value: value)},
}


def done_words(entry: AuditEntry, job_types: Mapping[str, str]) -> tuple[str, str, str]:
    """What was done: the words before the target, the target, the words after it. ``job_types``: of letters, by id."""
    text, target = _sentence(entry), entry.target_id
    if entry.target_kind == "letter":
        job_type = job_types.get(entry.target_id, "")
        target = plain_name(job_type) if job_type else "a job"
    elif entry.target_kind == "bulk":
        count = entry.after.get("done" if entry.action == "bulk.finish" else "matched")
        target = plural(count, "job") if isinstance(count, int) else "some jobs"
    head, has_target, tail = text.partition("{}")
    return head, target if has_target else "", tail


def many_words(entry: AuditEntry, count: int) -> tuple[str, str, str]:
    """What was done to so many jobs at once: the words before them, they, the words after them."""
    head, _, tail = _sentence(entry).partition("{}")
    return head, plural(count, "job"), tail


def changes_in(entry: AuditEntry) -> list[Changed]:
    """What of the change they can do something with."""
    known = _FIELDS.get(entry.target_kind, {})
    if entry.action == "tenant.create":
        return []
    before, after = _known(entry.before, known), _known(entry.after, known)
    # That nothing was left out says nothing.
    return changes_of(before, {name: value for name, value in after.items() if name in before or value != 0})


def who_words(entry: AuditEntry, *, by_staff: bool) -> str:
    """Who it was: a colleague by name, all others as our team. ``by_staff``: whether they are no colleague."""
    if entry.actor_kind == AuditEntry.Kind.SYSTEM:
        return "By itself"
    return OUR_TEAM if by_staff or entry.actor_kind == AuditEntry.Kind.COMMAND else entry.actor


def reason_words(entry: AuditEntry, *, by_staff: bool) -> str:
    """Why, where it was said to them: what our team writes down is for our team, but for a pause."""
    is_colleague = entry.actor_kind == AuditEntry.Kind.PERSON and not by_staff
    return entry.reason if is_colleague or entry.action == "tenant.pause" else ""


def _sentence(entry: AuditEntry) -> str:
    kind, _, verb = entry.action.partition(".")
    if kind == "bulk":
        return _BULK.get((verb, BulkAction.Kind(entry.after.get("kind"))), UNTOLD) if _is_kind(entry) else UNTOLD
    if entry.action == "letter.resolve" and entry.after.get("replay") == ReplayRun.State.DISCARDED:
        return "{} is over: nothing was left to do"
    if entry.action == "letter.reopen":
        died = entry.after.get("replay") == ReplayRun.State.DIED
        return "{} did not work when it was tried again" if died else "the new try of {} did not take place"
    return DONE.get(entry.action, UNTOLD)


def _is_kind(entry: AuditEntry) -> bool:
    return entry.after.get("kind") in BulkAction.Kind.values


def _known(fields: Mapping[str, Any], known: _Fields) -> dict[str, Any]:
    return {known[name][0]: known[name][1](value) for name, value in fields.items() if name in known}
