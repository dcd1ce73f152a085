"""The sentences at the top of a page, made from its state: what is wrong first, in plain words. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jobops.metrics.condition import Condition
from jobops.metrics.headline import Headline
from jobops.metrics.rows import TenantRow
from jobops.web.formats import NBSP, duration, listed, number, percent, plural, spelled
from jobops.web.selectors.dead import DeadSummary
from jobops.web.selectors.workers import Crew
from tenants.models import Tenant

PATIENCE_S = 60.0
"""Who waits no longer than this does not wait for anybody in particular."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a condition looks: its word, its icon, its colour class."""

    word: str
    icon: str
    tone: str


LOOKS = {
    Condition.FLOODING: Look("Flooding", "flood", "warn"),
    Condition.LATE: Look("Late", "alert-triangle", "warn"),
    Condition.AT_CAP: Look("At cap", "tobar", "warn"),
    Condition.PAUSED: Look("Paused", "pausef", "hold"),
    Condition.RETRYING: Look("Retrying", "rotate-clockwise", "warn"),
    Condition.CLOSED: Look("Closed", "lock", "hold"),
    Condition.OVERDUE: Look("Overdue", "octagon", "danger"),
    Condition.CALM: Look("Calm", "check", "calm"),
}
OWN_LOOKS = LOOKS | {
    Condition.FLOODING: Look("Very busy", "flood", "warn"),
    Condition.AT_CAP: Look("At your limit", "tobar", "warn"),
    Condition.OVERDUE: Look("Waits for us", "clock", "hold"),
    Condition.CLOSED: Look("Takes no new jobs", "lock", "hold"),
    Condition.RETRYING: Look("Trying again", "rotate-clockwise", "warn"),
    Condition.CALM: Look("All well", "check", "calm"),
}
NEEDS_A_LOOK = {
    Condition.FLOODING: "is flooding its own queue",
    Condition.LATE: "has jobs that wait too long",
    Condition.AT_CAP: "is at its cap",
    Condition.PAUSED: "is paused",
    Condition.RETRYING: "retries a lot",
    Condition.CLOSED: "takes no new jobs",
    Condition.OVERDUE: "has overdue dead letters",
}


def overview_title(rows: Sequence[TenantRow], head: Headline, dead: DeadSummary, crew: Crew, paused: bool) -> str:
    """The overview in one sentence, or two. ``rows``: worst first, all that the person may see."""
    if paused:
        return f"Everything is paused; {plural(head.waiting, 'job')} {_wait(head.waiting)}."
    if not crew.slots and head.waiting:
        return f"{no_worker(crew)}, and {plural(head.waiting, 'job')} {_wait(head.waiting)}."
    if dead.overdue:
        first = next((row.slug for row in rows if row.facts.dead_overdue), "")
        letters = f"{spelled(dead.overdue)} dead {'letter is' if dead.overdue == 1 else 'letters are'}"
        return f"{letters} past {'its' if dead.overdue == 1 else 'their'} deadline." + (
            first and f" Start with {first}."
        )
    trouble = [row for row in rows if row.condition not in (Condition.CALM, Condition.PAUSED, Condition.CLOSED)]
    if len(trouble) == 1:
        return f"{trouble[0].slug} {NEEDS_A_LOOK[trouble[0].condition]}{_others(trouble[0], rows)}"
    if trouble:
        return f"{spelled(len(trouble))} tenants need a look. Start with {trouble[0].slug}."
    if head.died:
        return f"{plural(head.died, 'job')} gave up in the last 5{NBSP}minutes. Nothing else needs a look."
    return "All is calm." if head.running or head.waiting else "All is calm, and nothing is waiting."


def no_worker(crew: Crew) -> str:
    """Why nothing can run while there is no living slot; it does not say more than is known."""
    if crew.young and crew.lost:
        return "Workers have not reported since Redis came back"
    if crew.silent_s is not None:
        return f"No worker has reported for {duration(crew.silent_s)}"
    return "No worker is running"


def orphans_note(crew: Crew) -> str:
    """What becomes of jobs whose worker is gone; the empty string without any."""
    if not crew.orphans:
        return ""
    whose = (
        "1 job’s worker is gone, it goes on"
        if crew.orphans == 1
        else f"{crew.orphans:,} jobs’ workers are gone, they go on"
    )
    return f"{whose} within {duration(math.ceil(crew.orphans_s))}"


def _wait(count: int) -> str:
    return "waits" if count == 1 else "wait"


def _others(one: TenantRow, rows: Sequence[TenantRow]) -> str:
    return _elsewhere([one], rows) if one.condition in (Condition.FLOODING, Condition.AT_CAP) else "."


def _elsewhere(those: Sequence[TenantRow], rows: Sequence[TenantRow]) -> str:
    """Whether the other tenants suffer. Paused ones wait because somebody chose it."""
    longest = max((row.oldest_s or 0.0 for row in rows if row not in those and not row.facts.paused), default=0.0)
    if longest < PATIENCE_S:
        return f". Nobody else waits for {'it' if len(those) == 1 else 'them'}."
    return f". Elsewhere the oldest job waits {duration(longest)}."


def flood_note(rows: Sequence[TenantRow], crew: Crew) -> str:
    """Who floods, and what holds them; the empty string if nobody does."""
    floods = [row for row in rows if row.condition is Condition.FLOODING]
    if not floods:
        return ""
    names = listed([row.slug for row in floods[:3]]) + (" and others" if len(floods) > 3 else "")
    if len(floods) > 1:
        return f"{names} are flooding{_elsewhere(floods, rows)}"
    cap = floods[0].facts.cap
    held = (
        f" and its cap holds it to {cap} of {plural(crew.slots, 'slot')}"
        if cap is not None and cap < crew.slots
        else ""
    )
    return f"{names} is flooding its own queue{held}{_elsewhere(floods, rows)}"


def own_title(rows: Sequence[TenantRow]) -> str:
    """The overview for people of tenants: their own jobs, in words that name no part of the machine."""
    if not rows:
        return "You do not belong to any tenant yet."
    paused = [row.facts.name or row.slug for row in rows if row.facts.paused]
    if paused:
        return f"{listed(paused[:3])} {'is' if len(paused) == 1 else 'are'} paused: jobs wait until it is resumed."
    running, waiting = sum(row.running for row in rows), sum(row.depth for row in rows)
    if not running and not waiting:
        return "All your jobs are done."
    parts = [f"{number(running)} of your jobs {'is' if running == 1 else 'are'} running"] if running else []
    parts += [f"{number(waiting)} {_wait(waiting)} {'its' if waiting == 1 else 'their'} turn"] if waiting else []
    return f"{' and '.join(parts)}."


def tenants_title(rows: Sequence[TenantRow]) -> str:
    """The list of tenants in one sentence."""
    trouble = sum(row.condition is not Condition.CALM for row in rows)
    count = plural(len(rows), "tenant")
    if not trouble:
        return f"{count}, {'calm' if len(rows) == 1 else 'all calm'}" if rows else "No tenants yet"
    return f"{count}, {number(trouble)} {'needs' if trouble == 1 else 'need'} a look"


def tenant_title(row: TenantRow) -> str:
    """A tenant's page in one sentence, for staff."""
    slug, waiting = row.slug, row.depth
    if row.facts.paused:
        return f"{slug} is paused; {plural(waiting, 'job')} {_wait(waiting)}."
    if row.condition is Condition.CALM:
        return f"{slug} is calm: {number(row.running)} running, {number(waiting)} waiting."
    text = f"{slug} {NEEDS_A_LOOK[row.condition]}"
    if row.condition is Condition.RETRYING:
        return f"{text}: {percent(row.retry_rate)}% of starts are retries."
    if row.condition in (Condition.FLOODING, Condition.LATE, Condition.AT_CAP):
        return f"{text}: {plural(waiting, 'job')} {_wait(waiting)}, the oldest for {duration(row.oldest_s)}."
    return f"{text}."


def who_paused(tenant: Tenant, *, staff: bool) -> str:
    """Who paused this tenant. A tenant's people read of staff that it is staff, and no name."""
    return (tenant.paused_by or "somebody") if staff or not tenant.paused_by_staff else "our team"


def limits_lede(row: TenantRow) -> str:
    """For a tenant's people: how many may run, how many do, how many wait, how many did not work."""
    cap, running, waiting, dead = row.facts.cap, row.running, row.depth, row.facts.dead_open
    at_once = f"You may run {plural(cap, 'job')} at once, and " if cap is not None else ""
    doing = f"{number(running) if running else 'none'} {'is' if running == 1 else 'are'} running."
    waits = f" {number(waiting)} {_wait(waiting)} {'its' if waiting == 1 else 'their'} turn." if waiting else ""
    failed = f" {number(dead)} did not work." if dead else ""
    return (at_once + doing if at_once else doing[0].upper() + doing[1:]) + waits + failed


def letters_title(count: int, overdue: int, slug: str) -> str:
    """The list of dead letters in one sentence; ``slug``: of one tenant only."""
    of = f" of {slug}" if slug else ""
    if not count:
        return f"No dead letter{of} is to be drained."
    if count == overdue:
        return (
            f"{plural(count, 'dead letter')}{of} {'is past its deadline' if count == 1 else 'are past their deadline'}."
        )
    late = f"; {number(overdue)} {'is past its' if overdue == 1 else 'are past their'} deadline" if overdue else ""
    return f"{plural(count, 'dead letter')}{of} {'is' if count == 1 else 'are'} to be drained{late}."


def own_letters_title(count: int, overdue: int, slug: str) -> str:
    """The same for a tenant's people."""
    whose = f"of the jobs of {slug}" if slug else "of your jobs"
    if not count:
        return f"None {whose} failed for good."
    them = "it" if count == 1 else "them" if overdue in (0, count) else f"{number(overdue)} of them"
    return f"{number(count)} {whose} did not work; our team {'is late with' if overdue else 'has'} {them}."


def workers_title(crew: Crew, waiting: int) -> str:
    """The workers' page in one sentence."""
    if not crew.slots:
        waits = f", and {plural(waiting, 'job')} {_wait(waiting)}" if waiting else ""
        return f"{no_worker(crew)}{waits}."
    lost = f"; {plural(crew.lost, 'worker')} {'is' if crew.lost == 1 else 'are'} lost" if crew.lost else ""
    busy = f"{number(crew.busy)} of {plural(crew.slots, 'slot')} {'is' if crew.busy == 1 else 'are'} busy"
    return f"{busy} on {plural(crew.workers, 'worker')}{lost}."
