"""Why a job is where it is, as its page says it: to staff in full, to a tenant's people in words that name no part of
the machine, no other customer and nobody of ours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobops.engine.why_facts import Holder
from jobops.runtime.why_records import SINCE_WORDS, UNTIL_WORDS, Help, Kind, Link, Reason, Why, at
from jobops.web.formats import NBSP, plural
from jobops.web.job_words import plain_name

_TONES = {
    Kind.STOPPING: ("player-stop", "warn"),
    Kind.RUNNING: ("player-play", "calm"),
    Kind.NEXT: ("check", "ok"),
    Kind.BEHIND: ("clock", "calm"),
    Kind.BEHIND_AT_GATE: ("clock", "calm"),
    Kind.SLOTS_BUSY: ("clock", "calm"),
    Kind.OUTBOX: ("clock", "calm"),
    Kind.DELAYED: ("hourglass", "calm"),
    Kind.POSTPONED: ("hourglass", "calm"),
    Kind.BACKING_OFF: ("hourglass", "warn"),
    Kind.TENANT_CAP: ("tobar", "warn"),
    Kind.LANE_CAP: ("tobar", "warn"),
    Kind.RESOURCE_FULL: ("tobar", "warn"),
    Kind.TYPE_FULL: ("tobar", "warn"),
    Kind.BRAKED: ("player-stop", "warn"),
    Kind.RESOURCE_RATE: ("hourglass", "warn"),
    Kind.TYPE_RATE: ("hourglass", "warn"),
    Kind.TENANT_RATE: ("hourglass", "warn"),
    Kind.CANCELLED: ("ban", "calm"),
    Kind.DROPPED: ("ban", "calm"),
    Kind.COALESCED: ("link", "calm"),
    Kind.REPLAY_OF: ("refresh", "calm"),
}
_PAUSES = (Kind.PAUSED, Kind.TENANT_PAUSED, Kind.TYPE_PAUSED, Kind.RESOURCE_PAUSED)
_ALARMING = ("alert-triangle", "danger")
# The page says it in its title and its other panels.
_SAID_ELSEWHERE = (Kind.SUCCEEDED, Kind.DISCARDED, Kind.DEAD)
_OF_THEIRS = (Kind.COALESCED, Kind.DROPPED, Kind.REPLAY_OF)
"""These lead to what a tenant's people may see."""

OUR_SIDE = "Something on our side keeps it from starting; our team looks after it."
_LIMIT = "We limit how many jobs of this kind start at once, and it waits for its turn."
OWN_TEXTS = {
    Kind.PAUSED: "All jobs are paused by our team.",
    Kind.TYPE_PAUSED: "Jobs of this kind are paused by our team.",
    Kind.RESOURCE_PAUSED: "Jobs of this kind are paused by our team.",
    Kind.RESOURCE_FULL: _LIMIT,
    Kind.TYPE_FULL: _LIMIT,
    Kind.RESOURCE_RATE: _LIMIT,
    Kind.TYPE_RATE: _LIMIT,
    Kind.BRAKED: "A service that it needs asked us to wait.",
    Kind.TENANT_RATE: "You have started as many jobs as you may in this time.",
    Kind.BEHIND_AT_GATE: _LIMIT,
    Kind.SLOTS_BUSY: "All places are taken; yours is among the next.",
    Kind.NEXT: "Nothing holds it: it starts in a moment.",
    Kind.DELAYED: "It was asked to start later.",
    Kind.POSTPONED: "It is tried again a little later.",
    Kind.BACKING_OFF: "It did not work, and is tried again by itself.",
    Kind.OUTBOX: "It is on its way.",
    Kind.STOPPING: "Our team is stopping it.",
    Kind.RUNNING: "It is running.",
    Kind.LEASE_LOST: "It was broken off, and goes on in a moment.",
    Kind.CANCELLED: "It was cancelled.",
    Kind.DROPPED: "A newer job that does the same took its place, as you had as many jobs waiting as you may.",
    Kind.COALESCED: "It joined a job that does the same.",
    Kind.REPLAY_OF: "It is a new try of a job that did not work.",
}


@dataclass(frozen=True, slots=True)
class Holding:
    """A job that holds what this one waits for; ``worker`` empty for a tenant's people."""

    job_id: str
    since: datetime | None
    worker: str
    job_type: str


@dataclass(frozen=True, slots=True)
class WhyLine:
    """One reason as the page shows it. ``since_word`` and ``until_word``: what is at those instants; ``times_out_at``:
    when a running job is killed at the latest."""

    kind: str
    icon: str
    tone: str
    text: str
    since: datetime | None
    since_word: str
    until: datetime | None
    until_word: str
    holders: Sequence[Holding]
    more: int
    link: Link | None
    times_out_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class WhyPanel:
    """The panel: its title, the reasons, and when it starts. ``estimate``: what follows ``start``, or a sentence.
    ``helps``: what would help beside the page's own buttons; for staff."""

    title: str
    lines: Sequence[WhyLine]
    start: datetime | None
    estimate: str
    helps: Sequence[Help] = ()


def panel_of(found: Why | None, *, staff: bool, slug: str) -> WhyPanel | None:
    """What the page says; None where it says nothing that the rest of the page does not. ``slug``: the person's tenant,
    of which they may see other jobs."""
    if found is None:
        return None
    shown = [reason for reason in found.reasons if reason.kind not in _SAID_ELSEWHERE]
    lines = [_line(reason, staff=staff, slug=slug) for reason in shown]
    if not staff:  # several of ours are one to them
        lines = list({line.text: line for line in lines}.values())
    if not lines:
        return None
    helps = [each for each in found.helps if each.link != Link("job", found.id)] if staff else []
    return WhyPanel(_title(found), lines, found.expected_start, _estimate(found, staff=staff), helps)


def _title(found: Why) -> str:
    if found.state in ("queued", "waiting", "scheduled", "outbox"):
        return "Why it is not running"
    return "Where it is" if found.state == "started" else "What became of it"


def _line(reason: Reason, *, staff: bool, slug: str) -> WhyLine:
    icon, tone = _TONES.get(reason.kind, ("player-pause", "warn") if reason.kind in _PAUSES else _ALARMING)
    holders = [_holding(one, staff=staff) for one in reason.holders if staff or (slug and one.tenant == slug)]
    return WhyLine(
        kind=reason.kind.value,
        icon=icon,
        tone=tone,
        text=reason.text if staff else own_text(reason),
        since=reason.since,
        since_word=SINCE_WORDS.get(reason.kind, "since"),
        until=reason.until if staff or reason.kind is not Kind.RUNNING else None,
        until_word=UNTIL_WORDS.get(reason.kind, "until"),
        holders=holders,
        more=reason.more if staff else 0,
        link=_link(reason) if staff else reason.link if reason.kind in _OF_THEIRS else None,
        times_out_at=reason.times_out_at if staff else None,
    )


def _link(reason: Reason) -> Link | None:
    """What helps leads to the limits; of a brake it is worth more which job put it on."""
    return Link("job", reason.by) if reason.kind is Kind.BRAKED and reason.by else reason.link


def _holding(one: Holder, *, staff: bool) -> Holding:
    job_type = one.job_type if staff else plain_name(one.job_type)
    return Holding(one.job_id, at(one.since_ms), one.worker if staff else "", job_type)


def own_text(reason: Reason) -> str:
    """The reason for a tenant's people."""
    if reason.kind is Kind.TENANT_PAUSED:
        by = "our team" if reason.by_staff or not reason.by else reason.by
        why = f": “{reason.note.rstrip('.')}”" if reason.note else ""
        return f"Your jobs are paused by {by}{why}."
    if reason.kind in (Kind.TENANT_CAP, Kind.LANE_CAP):
        return f"You may run only so many jobs at once, and {_running(reason.count or 0)}."
    if reason.kind is Kind.BEHIND:
        return f"{plural(reason.count or 0, 'job')} of yours {'is' if reason.count == 1 else 'are'} before it."
    if reason.kind is Kind.OUTBOX_HELD and reason.name == "DepthExceeded":
        return "You have as many jobs waiting as you may; it comes in when there is room."
    if reason.kind is Kind.OUTBOX_HELD and reason.name == "IntakeClosed":
        return "We take no new jobs of yours at present; it comes in when we do."
    if reason.kind is Kind.OUTBOX_HELD and not reason.name:
        return "There is room for it again: it comes in in a moment."
    return OWN_TEXTS.get(reason.kind, OUR_SIDE)


def _running(count: int) -> str:
    return f"{count:,}{NBSP}{'is' if count == 1 else 'are'} running"


def _estimate(found: Why, *, staff: bool) -> str:
    if not found.estimate:
        return ""
    if found.expected_start:
        return found.estimate if staff else "as it goes at present"
    return f"When it starts is {found.estimate}." if staff else "We cannot say when it starts."
