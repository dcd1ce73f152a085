"""The audit in words: what was done as a sentence without its subject, and what changed from what to what. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobops.audit.filters import LONGEST, AuditFilter
from jobops.audit.models import AuditEntry
from jobops.web.formats import plural
from jobops.web.values import value_text

LONGEST_SHOWN = 160
MOST_COUNTED = 10_000

# What was done; {} is the target. A list by kind, for the menu of the filter too.
DONE = {
    "letter.replay": "replayed dead letter {}",
    "letter.discard": "discarded dead letter {}",
    "letter.undo": "undid the discard of dead letter {}",
    "letter.cancel": "cancelled the replay of dead letter {}",
    "letter.resolve": "resolved dead letter {}, whose replay succeeded",
    "letter.reopen": "opened dead letter {} again",
    "letter.export": "exported dead letters",
    "bulk.draft": "chose letters for bulk action {}",
    "bulk.confirm": "started bulk action {}",
    "bulk.cancel": "stopped bulk action {}",
    "bulk.undo": "undid bulk action {}",
    "bulk.finish": "finished bulk action {}",
    "tenant.create": "took on tenant {}",
    "tenant.set": "changed tenant {}",
    "tenant.pause": "paused tenant {}",
    "tenant.resume": "resumed tenant {}",
    "tenant.cancel_jobs": "cancelled the waiting jobs of tenant {}",
    "tenant.delete": "deleted tenant {}",
    "job.enqueue": "enqueued job {} by hand",
    "job.cancel": "cancelled job {}",
    "job.unpark": "sent parked job {} on its way again",
    "job.mend": "mended job {} with the doctor",
    "letter.mend": "mended dead letter {} with the doctor",
    "queue.mend": "mended queue {} with the doctor",
    "tenant.mend": "mended tenant {} with the doctor",
    "redis.mend": "mended Redis with the doctor {}",
    "queue.repair": "recovered jobs of queue {} that had lost their worker",
    "worker.drain": "asked worker {} to drain",
    "policy.repair": "put the limits of tenant {} in force again",
    "policies.push": "put all limits in force again in a Redis that had lost them",
    "membership.set": "set the role of {}",
    "membership.end": "ended the role of {}",
    "user.create": "made the account {}",
    "user.set": "changed what {} may do",
    "user.profile": "changed the profile of {}",
    "user.password": "changed the password of {}",
    "user.delete": "deleted the account {}",
    "group.create": "made the group {}",
    "group.set": "changed the group {}",
    "group.delete": "deleted the group {}",
    "lockout.delete": "let {} try to sign in again",
    "audit.export": "exported the audit",
    "demo.mend": "mended the demo’s server {}",
    "demo.break": "broke the demo’s server {}",
}
# Of actions that things of many kinds have.
VERBS = {"mend": "mended"}

FIELDS = {
    "who": ("Who", "a name"),
    "what": ("What", "letter.replay, or letter"),
    "tenant": ("Tenant", "its slug"),
    "target": ("Done to", "letter 58112"),
    "request": ("Request", "its id"),
    "since": ("Since", "2h, or 2026-03-12 03:00"),
    "until": ("Until", "1h, or 2026-03-12 04:00"),
}


class Field(NamedTuple):
    """An input of the filter's form; ``fault``: why its value was passed over."""

    name: str
    label: str
    hint: str
    value: str
    fault: str


class Word(NamedTuple):
    """One thing that the filter asks for; ``without`` is the query string without it."""

    label: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Changed:
    """One field: what it was, and what it is; None where there was or is no such thing."""

    name: str
    was: str | None
    now: str | None


def done_words(entry: AuditEntry) -> tuple[str, str, str]:
    """What was done: the words before the target, the target, the words after it. An unknown action is spelled out."""
    verb = entry.action.partition(".")[2].replace("_", " ")
    kind = entry.target_kind.replace("_", " ")
    fallback = f"{VERBS[verb]} {kind} {{}}" if verb in VERBS else f"{verb or entry.action} of {kind} {{}}"
    text = DONE.get(entry.action, fallback)
    head, has_target, tail = text.partition("{}")
    return head, entry.target_id if has_target else "", tail


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Changed]:
    """Each field that changed, in the order of the row."""
    return [
        Changed(
            name.replace("_", " "),
            _shown(before[name]) if name in before else None,
            _shown(after[name]) if name in after else None,
        )
        for name in {**before, **after}
    ]


def who_words(entry: AuditEntry, *, staff: bool, by_staff: bool) -> str:
    """Who it was. A tenant's people read of staff that it is staff, and no name of a command or a machine.

    ``by_staff``: whether the person is one of ours.
    """
    if entry.actor_kind == AuditEntry.Kind.SYSTEM:
        return f"{entry.actor}, by itself" if staff else "by itself"
    if staff:
        return entry.actor
    if entry.actor_kind == AuditEntry.Kind.COMMAND:
        return "our team"
    return f"our team ({entry.actor})" if by_staff else entry.actor


def filter_fields(params: Mapping[str, str], faults: Mapping[str, str]) -> list[Field]:
    """The form as it was sent, so that what was passed over can be mended."""
    return [
        Field(name, label, hint, "".join(filter(str.isprintable, params.get(name, "")))[:LONGEST], faults.get(name, ""))
        for name, (label, hint) in FIELDS.items()
    ]


def filter_words(wanted: AuditFilter) -> list[Word]:
    """What the filter asks for, each with a way to be rid of it."""
    return [
        Word(label, getattr(wanted, name), wanted.as_query(**{name: ""}))
        for name, (label, _hint) in FIELDS.items()
        if getattr(wanted, name)
    ]


def audit_title(count: int, by_people: int) -> str:
    """The page in one sentence: what the last 24 hours brought."""
    if not count:
        return "Nothing was changed in the last 24 hours."
    many = f"More than {MOST_COUNTED:,} changes" if count > MOST_COUNTED else plural(count, "change")
    if by_people in (0, count):
        by = ", all by people" if by_people else ", none by a person"
        return f"{many} in the last 24 hours{by if count > 1 else ''}."
    return f"{many} in the last 24 hours, {by_people:,} of them by people."


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = ", ".join(value) or "none"
    text = value if isinstance(value, str) else value_text(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
