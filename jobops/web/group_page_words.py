"""The sentences of a cause's page. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.bulk_progress import Progress
from dlq.changing import SCHEDULER
from dlq.clock.standing import Kind
from dlq.models import BulkAction, DeadLetterGroup
from jobops.audit.models import AuditEntry
from jobops.web.clock_words import forecast_words
from jobops.web.formats import NBSP, ago, clock, number, plural
from jobops.web.group_bulk_words import ICONS, became_words, did_words
from jobops.web.job_words import plain_name
from jobops.web.lately_words import since_then
from jobops.web.places import bulk_url
from jobops.web.selectors.group_lines import GroupLine
from jobops.web.selectors.lately import Lately
from jobops.web.words import Look

WINDOW = f"in the last 5{NBSP}minutes"

# What happened to a cause: the words after who did it.
DID = {
    "group.acknowledge": Look("acknowledged it", "square-check", ""),
    "group.snooze": Look("snoozed it", "zzz", ""),
    "group.activate": Look("made it active again", "ring", ""),
    "group.reopen": Look("It woke", "rotate-clockwise", ""),
    "group.wake": Look("Its time of sleep is over", "rotate-clockwise", ""),
    "group.drain": Look("All of it was drained", "check", ""),
    "group.note": Look("wrote a note", "edit", ""),
    "group.link": Look("changed its links", "link", ""),
    "group.take": Look("took the whole cause", "user", ""),
    "group.assign": Look("handed it over", "user", ""),
    "group.give_back": Look("gave it back to the rules", "arrow-back-up", ""),
    "group.clock_pause": Look("paused its clock", "clock-pause", ""),
    "group.clock_resume": Look("let its clock go on", "player-play", ""),
}
QUOTED = ("group.acknowledge", "group.clock_pause")
"""Whose reason is told beside it; a note stands among the notes."""


@dataclass(frozen=True, slots=True)
class Happened:
    """One line. ``who``: empty for what happened by itself; ``icon``: of the sprite; ``quote``: a reason.
    ``url``: of its own page, to which ``text`` leads; ``rest``: what follows ``text``."""

    at: datetime
    icon: str
    who: str
    text: str
    quote: str = ""
    url: str = ""
    rest: str = ""


def page_title(line: GroupLine, *, staff: bool) -> str:
    """What the page is about, in the words of the error."""
    if staff:
        return line.title
    name = plain_name(line.group.job_type)
    return f"Did not work: {line.title}" if line.numbers.undrained else f"{name}: all of it is dealt with"


def forecast_of(line: GroupLine, *, staff: bool) -> str:
    """What comes of it at this rate."""
    if not staff or line.standing is None or line.standing.kind is Kind.PAUSED:
        return line.note
    return forecast_words(line.standing, line.forecast, overdue=line.late)


def lately_of(found: Lately | None, now: datetime, *, staff: bool) -> tuple[str, str]:
    """What died of it lately: a claim, and what it rests on."""
    if found is None:
        return "", ""
    since = since_then(found, staff=staff)
    if not found.count:
        return "", f"Nothing {'died of it' if staff else 'of yours failed like this'} {WINDOW}. {since}".rstrip()
    least = "At least " if found.more else ""
    died = f"{number(found.count)} {'died of it' if staff else 'of your jobs failed like this'}"
    rests = f"{least}{died} {WINDOW}, the latest {ago(found.latest_at, now)}. {since}".rstrip()
    return ("" if found.succeeded else "The cause is not mended." if staff else "It goes on."), rests


def is_warning(found: Lately | None) -> bool:
    """Whether the numbers speak against a replay just now."""
    return found is not None and bool(found.count) and not found.succeeded


def came_back(group: DeadLetterGroup) -> str:
    """That it woke up again, and how often that has happened; the empty string if it never did."""
    if group.reopened_at is None or not group.reopenings:
        return ""
    times = "" if group.reopenings == 1 else f", {plural(group.reopenings, 'time')} in all"
    was = f"It was {group.reopened_from}" if group.reopened_from else "It was at rest"
    return f"{was}, and came back at {clock(group.reopened_at)}{times}."


def who_set_it(group: DeadLetterGroup) -> str:
    """Who had it be in its state; the empty string where nobody did, as it came about by itself."""
    return "" if group.state_by == SCHEDULER else group.state_by


def happening(row: AuditEntry) -> Happened:
    """A row of the audit, of an action in ``DID``, as a line of its history."""
    look = DID[row.action]
    who = "" if row.actor_kind == AuditEntry.Kind.SYSTEM else _name(row.actor)
    quote = row.reason if row.action in QUOTED else ""
    text = row.reason.removesuffix(".") if row.action == "group.reopen" and row.reason else look.word
    return Happened(row.at, look.icon, who, f"{text}{_details(row.action, row.after)}", quote)


def history(rows: Sequence[AuditEntry], bulks: Sequence[tuple[BulkAction, Progress]]) -> list[Happened]:
    """What happened to it and what was done to all of it, the newest first."""
    lines = [happening(row) for row in rows] + [_of_bulk(bulk, at) for bulk, at in bulks]
    return sorted(lines, key=lambda line: line.at, reverse=True)


def _of_bulk(bulk: BulkAction, at: Progress) -> Happened:
    begun, icon = bulk.started_at or bulk.created_at, ICONS[BulkAction.Kind(bulk.kind)]
    did, became = did_words(bulk, at), became_words(bulk, at)
    return Happened(begun, icon, _name(bulk.by), did, bulk.reason, bulk_url(bulk), became)


def _name(actor: str) -> str:
    kind, _, login = actor.partition(":")
    return f"{login}, by command," if kind == "command" and login else actor


def _details(action: str, after: Mapping[str, object]) -> str:
    if action in ("group.assign", "group.give_back", "group.take"):
        whom = [str(after[name] or "nobody") for name in ("owner", "assignee") if name in after]
        return f": {', '.join(whom)}" if whom and action != "group.take" else ""
    if action == "group.snooze":
        return _until(after)
    return ""


def _until(after: Mapping[str, object]) -> str:
    if isinstance(until := after.get("until"), str):
        try:
            return f" until {clock(datetime.fromisoformat(until))}"
        except ValueError:
            return ""
    if isinstance(deaths := after.get("to_deaths"), int):
        return f" until {number(deaths)} deaths"
    return " until another tenant is hit" if "to_tenants" in after else ""
