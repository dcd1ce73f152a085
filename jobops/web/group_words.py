"""The words of causes: the title of their list, how their states look, what a row says beside its numbers. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dlq.asking import ME, MINE, NOBODY
from dlq.group_filters import GroupFilter
from dlq.models import DeadLetterGroup, Reason, Severity
from dlq.owners.facts import BY_DEFAULT
from jobops.web.formats import clock, number, plural, spelled
from jobops.web.job_words import REASONS
from jobops.web.selectors.group_counts import GroupCounts, Tally, open_base
from jobops.web.selectors.group_numbers import Numbers
from jobops.web.words import Look

State = DeadLetterGroup.State
LOOKS = {
    State.ACTIVE: Look("Active", "ring", ""),
    State.ACKNOWLEDGED: Look("Acknowledged", "square-check", ""),
    State.SNOOZED: Look("Snoozed", "zzz", ""),
    State.DRAINED: Look("Drained", "check", "calm"),
}
OWN_OPEN = Look("Did not work", "alert-circle", "hold")
OWN_AGAIN = Look("Being tried again", "refresh", "accent")
OWN_OVER = Look("All dealt with", "check", "calm")
NO_CLOCK = Look("Drained", "check", "calm")
LONGEST_NEWS = timedelta(days=1)
"""For so long a cause that came back says so."""

NO_RULE = "no rule matched"
MOST_TEAMS = 5

MOSTLY = 0.95
"""A few causes are named together if they hold so much of all."""


@dataclass(frozen=True, slots=True)
class View:
    """One view over the list; ``found``: how many letters stand behind it, None where nobody has counted."""

    name: str
    label: str
    query: str
    current: bool
    found: str | None


def title_of(group: DeadLetterGroup) -> str:
    """What a cause is called; never empty."""
    return group.title or group.error_class or group.job_type or f"Cause {group.pk}"


def state_note(group: DeadLetterGroup, now: datetime) -> str:
    """Until when a cause sleeps."""
    if group.state != State.SNOOZED:
        return ""
    if group.snoozed_until is not None:
        return f"until {clock(group.snoozed_until, now)}"
    if group.snoozed_to_deaths is not None:
        return f"until {number(group.snoozed_to_deaths)} deaths"
    return "until another tenant"


def tags(group: DeadLetterGroup, reason: str, now: datetime) -> list[str]:
    """What else is to be known of a cause, in a word each."""
    found = []
    if group.reopened_at is not None and now - group.reopened_at < LONGEST_NEWS:
        if group.reopened_from == State.DRAINED and group.state != State.DRAINED:
            found.append("came back")
        elif group.state == State.ACTIVE:
            found.append("woke up")
    if group.severity in (Severity.HIGH, Severity.CRITICAL):
        found.append(f"{group.severity} severity")
    if reason not in ("", Reason.EXHAUSTED):
        found.append(REASONS.get(reason, reason).lower())
    if group.owned_by == BY_DEFAULT:
        found.append(NO_RULE)
    return found


def owned_words(owned_by: str) -> str:
    """What decided whose it is."""
    return f"{owned_by}: {NO_RULE}" if owned_by == BY_DEFAULT else owned_by


def stands_words(group: DeadLetterGroup, now: datetime) -> str:
    """``acknowledged by ada``, ``snoozed until 16:00 by ada``: who deals with a cause, or will; empty for others."""
    if group.state not in (State.ACKNOWLEDGED, State.SNOOZED):
        return ""
    by = f"by {group.state_by}" if group.state_by else ""
    return " ".join(part for part in (LOOKS[State(group.state)].word.lower(), state_note(group, now), by) if part)


def teams_words(names: Sequence[str]) -> str:
    """Whose else letters of a cause are: ``imports and mail have letters of it too``; empty for nobody's."""
    if not names:
        return ""
    told = names if len(names) <= MOST_TEAMS else [*names[:MOST_TEAMS], f"{len(names) - MOST_TEAMS} more teams"]
    who = f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]
    return f"{who} {'has' if len(names) == 1 else 'have'} letters of it too"


def own_state(has: Numbers) -> Look:
    """How a cause stands for a tenant's people."""
    if not has.undrained:
        return OWN_OVER
    return OWN_AGAIN if has.replaying == has.undrained else OWN_OPEN


def views(asked: GroupFilter, counts: GroupCounts, *, staff: bool) -> list[View]:
    """The views, one click each; whatever else is asked for is kept."""
    base = open_base(asked)
    late = None if counts.overdue is None else str(counts.overdue)
    every = number(counts.all.letters + counts.unsorted)
    made: list[tuple[str, str, GroupFilter, str | None]] = [
        ("all", "All open" if staff else "Did not work", base, every)
    ]
    if staff:
        made += [
            ("mine", "Mine", replace(base, assignee=ME), number(counts.mine)),
            ("team", "My team’s", replace(base, owner=MINE), number(counts.team)),
            ("unassigned", "Unassigned", replace(base, assignee=NOBODY), number(counts.unassigned)),
        ]
    made.append(("overdue", "Overdue" if staff else "Late", replace(base, overdue=True), late))
    here = replace(asked, sort="due")
    return [View(name, label, each.as_query(), each == here, found) for name, label, each, found in made]


def title(asked: GroupFilter, counts: GroupCounts, *, staff: bool) -> str:
    """The list in one sentence."""
    base = open_base(asked)
    if replace(asked, sort="due", tenant="") == replace(base, tenant="", q="", job="", severity="", error=""):
        return _whole(asked, counts, staff=staff)
    if asked.status == State.DRAINED:
        if not staff:
            return (
                f"{plural(counts.here.causes, 'reason')}, all dealt with"
                if counts.here.causes
                else "None is dealt with."
            )
        return f"{plural(counts.here.causes, 'cause')} drained" if counts.here.causes else "No cause is drained."
    if not counts.here.causes:
        return "No cause matches." if staff else "Nothing matches."
    what = _tally(counts.here, staff=staff)
    if replace(base, assignee=ME) == replace(asked, sort="due"):
        return f"{what} assigned to you"
    letters, _, causes = what.partition(", ")
    return f"{letters} of {causes} {'matches' if counts.here.letters == 1 else 'match'}"


def _whole(asked: GroupFilter, counts: GroupCounts, *, staff: bool) -> str:
    total = Tally(counts.all.letters + counts.unsorted, counts.all.causes)
    of = f" of {asked.tenant}" if asked.tenant else ""
    if not total.letters:
        return f"No dead letter{of} is to be drained." if staff else "None of your jobs failed for good."
    if staff:
        letters = plural(total.letters, "dead letter")
        return f"{letters}{of}, {plural(total.causes, 'cause')}" if total.causes else f"{letters}{of}"
    whose = f"of the jobs of {asked.tenant}" if asked.tenant else "of your jobs"
    why = f", for {plural(total.causes, 'reason')}" if total.causes else ""
    return f"{number(total.letters)} {whose} did not work{why}"


def _tally(here: Tally, *, staff: bool) -> str:
    letters = plural(here.letters, "dead letter" if staff else "job")
    return f"{letters}, {plural(here.causes, 'cause' if staff else 'reason')}"


def lede(counts: GroupCounts, *, staff: bool) -> tuple[str, str]:
    """What is under the title, and the one job type in which all that is late died, if it is one."""
    if not staff:
        return "Our team looks after each of them.", ""
    parts = [_largest(counts), _late(counts)]
    job = counts.late_jobs[0] if counts.overdue and len(counts.late_jobs) == 1 else ""
    text = " ".join(part for part in parts if part)
    return text or "Jobs that gave up. Each stays here, with an owner and a deadline, until it is drained.", job


def _largest(counts: GroupCounts) -> str:
    """The fewest causes, at most three, that hold nearly all."""
    for few in range(1, len(counts.largest) + 1):
        held = sum(counts.largest[:few])
        if few < counts.all.causes and held >= MOSTLY * counts.all.letters:
            return f"{spelled(few)} cause{'s hold' if few > 1 else ' holds'} {number(held)} of them."
    return ""


def _late(counts: GroupCounts) -> str:
    if not counts.overdue:
        return ""
    one = counts.overdue.count == 1
    return f"{counts.overdue} {'is past its' if one else 'are past their'} deadline"


def unsorted_note(counts: GroupCounts, *, staff: bool) -> str:
    """Letters that stand in no cause yet; the empty string without any."""
    count = counts.unsorted
    if not count:
        return ""
    if not staff:
        return f"{number(count)} of them {'is' if count == 1 else 'are'} not in this list yet."
    has, stands = ("has", "is") if count == 1 else ("have", "are")
    return f"{plural(count, 'dead letter')} {has} no cause yet and {stands} not in this list."
