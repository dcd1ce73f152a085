"""The audit in words for staff: what was done as a sentence without its subject, and the page in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlq.bulk_records import ALL
from jobops.audit.changes import Changed, changes_of
from jobops.audit.models import AuditEntry
from jobops.web.bulk_words import chosen_words
from jobops.web.formats import full_time, plural
from tenants.models import Tenant
from tenants.recorded import facts_of

MOST_COUNTED = 10_000

# What was done; {} is the target. A list by kind, for the menu of the filter too.
DONE = {
    "letter.replay": "replayed dead letter {}",
    "letter.discard": "discarded dead letter {}",
    "letter.undo": "undid the discard of dead letter {}",
    "letter.cancel": "cancelled the replay of dead letter {}",
    "letter.resolve": "resolved dead letter {}, whose replay succeeded",
    "letter.reopen": "opened dead letter {} again",
    "letter.edit_refused": "tried to edit something else than the arguments of dead letter {}",
    "letter.export": "exported dead letters",
    "letter.purge": "deleted drained dead letters for good",
    "discard_reason.add": "put “{}” among the reasons for a discard",
    "discard_reason.rename": "renamed the reason for a discard “{}”",
    "discard_reason.move": "moved the reason for a discard “{}”",
    "discard_reason.retire": "retired the reason for a discard “{}”",
    "discard_reason.restore": "offered the reason for a discard “{}” again",
    "source.import": "took failed jobs of RQ source {} over",
    "letter.mend": "mended dead letter {} with the doctor",
    "batch.cancel": "cancelled batch {}",
    "batch.mend": "mended batch {} with the doctor",
    "bulk.confirm": "started bulk action {}",
    "bulk.cancel": "cancelled bulk action {}",
    "bulk.canary": "let bulk action {} go on after its canary",
    "bulk.pause": "paused bulk action {}",
    "bulk.resume": "let bulk action {} go on",
    "bulk.speed": "changed the speed of bulk action {}",
    "bulk.undo": "undid bulk action {}",
    "bulk.finish": "finished bulk action {}",
    "letter.take": "took dead letter {}",
    "letter.assign": "handed dead letter {} on",
    "letter.give_back": "gave dead letter {} back",
    "letter.clock_pause": "paused the drain clock of dead letter {}",
    "letter.clock_resume": "let the drain clock of dead letter {} go on",
    "group.clock_pause": "paused the drain clocks of cause {}",
    "group.clock_resume": "let the drain clocks of cause {} go on",
    "group.take": "took all dead letters of cause {}",
    "group.assign": "handed all dead letters of cause {} on",
    "group.give_back": "gave all dead letters of cause {} back",
    "rules.save": "put version {} of the ownership rules in force",
    "rules.apply": "decided all owners anew by version {} of the rules",
    "redirect.create": "had dead letters of {} replayed as another type",
    "redirect.set": "led the redirect of {} elsewhere",
    "redirect.delete": "took the redirect of {} back",
    "team.create": "made team {}",
    "team.set": "changed team {}",
    "team.delete": "deleted team {}",
    "team.add": "took a member into team {}",
    "team.remove": "took a member out of team {}",
    "tenant.create": "took on tenant {}",
    "tenant.set": "changed tenant {}",
    "tenant.pause": "paused tenant {}",
    "tenant.resume": "resumed tenant {}",
    "tenant.cancel_jobs": "cancelled the waiting jobs of tenant {}",
    "tenant.delete": "deleted tenant {}",
    "tenant.mend": "mended tenant {} with the doctor",
    "policy.repair": "put the limits of tenant {} in force again",
    "policies.push": "put all limits in force again in a Redis that had lost them",
    "all.pause": "paused {}",
    "all.resume": "resumed {}",
    "all.mend": "mended the pause of {} with the doctor",
    "job_type.pause": "paused job type {}",
    "job_type.resume": "resumed job type {}",
    "job_type.set": "changed the limits of job type {}",
    "job_type.reset": "reset the limits of job type {}",
    "job_type.release": "took the brake off job type {}",
    "job_type.mend": "mended the limits of job type {} with the doctor",
    "resource.pause": "paused resource {}",
    "resource.resume": "resumed resource {}",
    "resource.set": "changed the limits of resource {}",
    "resource.reset": "reset the limits of resource {}",
    "resource.release": "took the brake off resource {}",
    "resource.mend": "mended the limits of resource {} with the doctor",
    "job.enqueue": "enqueued job {} by hand",
    "job.cancel": "cancelled job {}",
    "job.stop": "stopped running job {}",
    "job.run_now": "sent job {} to run before its time",
    "job.unpark": "sent parked job {} on its way again",
    "job.mend": "mended job {} with the doctor",
    "queue.repair": "recovered jobs of queue {} that had lost their worker",
    "queue.mend": "mended queue {} with the doctor",
    "worker.drain": "asked worker {} to drain",
    "redis.mend": "mended Redis with the doctor {}",
    "membership.set": "set the role of {}",
    "membership.end": "ended the role of {}",
    "user.create": "made the account {}",
    "user.set": "changed what {} may do",
    "user.profile": "changed the profile of {}",
    "user.password": "changed the password of {}",
    "user.delete": "deleted the account {}",
    "group.acknowledge": "acknowledged cause {}",
    "group.snooze": "snoozed cause {}",
    "group.activate": "took cause {} up again",
    "group.note": "wrote a note about cause {}",
    "group.link": "changed the links of cause {}",
    "group.drain": "closed cause {}, of which nothing is left to be drained",
    "group.reopen": "opened cause {} again",
    "group.wake": "woke cause {}, whose snooze is over",
    "group.mend": "mended the counts of cause {} with the doctor",
    "group.repair": "put the counts of cause {} right",
    "group.create": "made the group {}",
    "group.set": "changed the group {}",
    "group.delete": "deleted the group {}",
    "lockout.delete": "let {} try to sign in again",
    "alert.acknowledge": "acknowledged alert {}",
    "silence.create": "silenced alerts with silence {}",
    "silence.end": "ended silence {}",
    "alert_rule.set": "set alert threshold {}",
    "alert_rule.delete": "took back alert threshold {}",
    "channel.create": "made the alert channel {}",
    "channel.set": "changed the alert channel {}",
    "channel.delete": "deleted the alert channel {}",
    "channel.test": "sent a test through the alert channel {}",
    "audit.export": "exported the audit",
    "demo.mend": "mended the demo’s server {}",
    "demo.break": "broke the demo’s server {}",
    "demo.incident": "let {} jobs of the demo go wrong",
}
# Of actions that things of many kinds have.
VERBS = {"mend": "mended"}
# Fields that pages know by another name.
NAMES = {"group": "cause"}


def done_words(entry: AuditEntry) -> tuple[str, str, str]:
    """What was done: the words before the target, the target, the words after it. An unknown action is spelled out."""
    verb = entry.action.partition(".")[2].replace("_", " ")
    kind = entry.target_kind.replace("_", " ")
    fallback = f"{VERBS[verb]} {kind} {{}}" if verb in VERBS else f"{verb or entry.action} of {kind} {{}}"
    text = DONE.get(entry.action, fallback)
    head, has_target, tail = text.partition("{}")
    return head, entry.target_id if has_target else "", tail


def many_words(entry: AuditEntry, count: int) -> tuple[str, str, str]:
    """What was done to so many letters at once: the words before them, they, the words after them."""
    head, _, tail = done_words(entry)
    return head.removesuffix("dead letter "), plural(count, "dead letter"), tail


def changes_in(entry: AuditEntry) -> list[Changed]:
    """What the row changed. How a tenant differs from any other new one is all that is told of its beginning."""
    usual = facts_of(Tenant(slug=entry.target_id, name=entry.target_id)) if entry.action == "tenant.create" else {}
    return changes_of(_readable(entry.before), _readable(entry.after), usual)


def who_words(entry: AuditEntry) -> str:
    """Who it was."""
    return f"{entry.actor}, by itself" if entry.actor_kind == AuditEntry.Kind.SYSTEM else entry.actor


def audit_title(count: int, by_people: int, *, narrowed: bool = False) -> str:
    """The page in one sentence: what the last 24 hours brought or, ``narrowed`` by a filter, how much matches."""
    if not count:
        return "No change matches." if narrowed else "Nothing was changed in the last 24 hours."
    many = f"More than {MOST_COUNTED:,} changes" if count > MOST_COUNTED else plural(count, "change")
    which = f"{many} {'matches' if count == 1 else 'match'}" if narrowed else f"{many} in the last 24 hours"
    if by_people in (0, count):
        by = ", all by people" if by_people else ", none by a person"
        return f"{which}{by if count > 1 else ''}."
    return f"{which}, {by_people:,} of them by people."


def _readable(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as people read them: instants in the viewer's zone, and letters that a filter chose in words."""
    told = {NAMES.get(name, name): _instant(value) if _is_instant(name) else value for name, value in fields.items()}
    chosen = told.get("chosen")
    if isinstance(chosen, str) and (chosen in ("", ALL) or "=" in chosen):
        told["chosen"] = chosen_words(chosen, staff=True)
    return told


def _is_instant(name: str) -> bool:
    """By its name alone: what a value looks like may be the very text that somebody wrote."""
    return name in ("until", "since") or name.endswith(("_at", "_until", "_since"))


def _instant(value: Any) -> Any:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return value
    return value if at is None or timezone.is_naive(at) else full_time(at)
