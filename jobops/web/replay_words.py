"""How a replay of many runs and where it stands, in words: its pace, its title, what stopped it, its guards. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from dlq.bulk_progress import Progress
from dlq.models import BulkAction, Reason, ReplayPlan
from dlq.replay_plan import DEFAULTS
from dlq.text import one_line
from jobops.web.formats import NBSP, clock, clock_seconds, duration, listed, number, plain

State = BulkAction.State
BY_CANARY, BY_BREAKER = "canary", "breaker"


class PlanLike(Protocol):
    """What a plan says, stored (``ReplayPlan``) or only asked for (``PlanOptions``)."""

    @property
    def rate(self) -> float | None: ...
    @property
    def in_flight(self) -> int | None: ...
    @property
    def lane(self) -> str | None: ...
    @property
    def spread_s(self) -> int | None: ...
    @property
    def start_at(self) -> datetime | None: ...
    @property
    def canary(self) -> int: ...
    @property
    def canary_failures(self) -> int: ...
    @property
    def breaker_window(self) -> int: ...
    @property
    def breaker_percent(self) -> float: ...
    @property
    def in_order(self) -> bool: ...


class Standing(StrEnum):
    """Where a replay is."""

    SCHEDULED = "scheduled"
    CANARY = "canary"
    RUNNING = "running"
    CANARY_STOPPED = "canary stopped"
    BREAKER_TRIPPED = "breaker tripped"
    PAUSED = "paused"
    SENT = "sent"  # Nothing waits any more; some of its jobs have not ended.
    OVER = "over"
    CANCELLED = "cancelled"


STOPPED = (Standing.CANARY_STOPPED, Standing.BREAKER_TRIPPED, Standing.PAUSED)


def standing(bulk: BulkAction, plan: ReplayPlan | None, at: Progress, now: datetime) -> Standing:
    """Where it is, as of the rows in hand."""
    if bulk.state == State.CANCELLED:
        return Standing.CANCELLED
    if bulk.state == State.FINISHED:
        return Standing.OVER if at.is_over else Standing.SENT
    if bulk.state == State.PAUSED:
        by = {BY_CANARY: Standing.CANARY_STOPPED, BY_BREAKER: Standing.BREAKER_TRIPPED}
        return by.get(plan.paused_by if plan else "", Standing.PAUSED)
    if plan is not None and plan.start_at is not None and plan.start_at > now and not at.done:
        return Standing.SCHEDULED
    if plan is not None and plan.canary and plan.phase == ReplayPlan.Phase.CANARY:
        return Standing.CANARY
    return Standing.RUNNING


def pace(plan: PlanLike) -> str:
    """``at 20 per second``, ``spread over 1 h``, ``as fast as they go``."""
    if plan.spread_s:
        return f"spread over {duration(plan.spread_s)}"
    return f"at {plain(plan.rate)} per second" if plan.rate else "as fast as they go"


def rest_s(n: int, plan: PlanLike) -> float | None:
    """Seconds that so many take at this pace; None: not known."""
    if plan.spread_s:
        return float(plan.spread_s)
    return n / plan.rate if plan.rate else None


def failing_then(n: int, plan: PlanLike, *, staff: bool, succeeded: int = 0) -> str:
    """What comes of it that the cause still fails, as the replay is planned; ``succeeded``: replays since the newest
    death of it, after which nobody can say."""
    if succeeded and 0 < plan.canary < n:
        return f"{'The canary' if staff else f'The first {number(plan.canary)}'} will show whether it is mended."
    if succeeded:
        return "It may be mended, and may not."
    if 1 < n <= plan.canary and n > DEFAULTS.canary:
        return "The canary, which is all of them, will probably stop it." if staff else "It will probably stop."
    if 0 < plan.canary < n:
        jobs = "1 job runs" if plan.canary == 1 else f"{number(plan.canary)} jobs run"
        what = "The canary" if staff else f"The first {number(plan.canary)}"
        stops = "will probably stop this replay" if staff else "will probably fail again, and then it stops"
        return f"{what} {stops}. That is safe: at most {jobs}, and you get the list."
    again = "die" if staff else "fail"
    return f"What is sent back now may {again} of the same. That does no harm to its deadline, and you get the list."


def ahead_words(ahead: Mapping[str, int], tenants: int) -> str:
    """What waits already in each lane, and runs before what is sent there; the empty string for nothing."""
    if not ahead:
        return ""
    whose = "of this tenant" if tenants == 1 else "of the same tenants"
    first, *others = [f"{number(count)} in {lane}" for lane, count in ahead.items()]
    return f"Jobs {whose} that wait now come first: {listed([first, *others])}."


def died_of(reason: str, error_class: str) -> str:
    """What some died of, after their number: ``on a lost worker``, ``timed out``, ``PaymentError``."""
    if reason == Reason.WORKER_LOST:
        return "on a lost worker"
    if reason == Reason.TIMEOUT:
        return "timed out"
    return one_line(error_class.rpartition(".")[2], 60) or "of something unnamed"


def how_it_runs(bulk: BulkAction, plan: PlanLike, default_lane: str, *, staff: bool) -> list[tuple[str, str]]:
    """The facts beside a running one, name and value; to a tenant's people, none of the machine's."""
    begins = "the beginning" if bulk.from_start else "the checkpoint"
    order = "original, per key" if plan.in_order else "any"
    shared = [("Start from", begins), ("Order", order)]
    if not staff:
        return shared
    lane = plan.lane or "as each had"
    rows = [
        ("Speed", pace(plan).removeprefix("at ")),
        ("In flight", f"{number(plan.in_flight)} at most" if plan.in_flight else "any number"),
        ("Lane", f"{lane}, beneath the others" if plan.lane == default_lane else lane),
        *shared,
    ]
    if plan.start_at:
        rows.append(("Start at", clock(plan.start_at)))
    return rows


def replay_title(
    name: str, where: Standing, at: Progress, plan: ReplayPlan | None, ended: int, *, staff: bool = True
) -> str:
    """One that is under way or stopped, in one sentence; ``name``: ``Replay 318``, ``ended``: whose jobs have."""
    whole = at.matched - at.skipped
    of = f"{number(ended)} of {number(whole)} done"
    if where is Standing.SCHEDULED and plan is not None:
        return f"{name} starts at {clock(plan.start_at)}: {number(whole)} wait for it"
    if where is Standing.CANARY:
        total, ended = (at.canary.total, at.canary.ended) if at.canary else (0, 0)
        runs = "runs its canary" if staff else "tries the first ones"
        return f"{name} {runs}: {number(ended)} of {number(total)} done" if total else f"{name} begins"
    if where in (Standing.CANARY_STOPPED, Standing.BREAKER_TRIPPED):
        by = "canary" if where is Standing.CANARY_STOPPED else "breaker"
        return f"{name} was stopped by its {by}: {of}" if staff else f"{name} stopped by itself: {of}"
    return f"{name} is {'paused' if where is Standing.PAUSED else 'running'}: {of}"


@dataclass(frozen=True, slots=True)
class Eta:
    """When the rest is sent, at the pace of now."""

    seconds: float
    at: datetime


def eta_words(eta: Eta | None, where: Standing) -> str:
    """``All will have been sent by 03:18:10, in 1 min.``; empty where nothing can be said."""
    if where is Standing.SCHEDULED:
        return "Nothing has run yet."
    if eta is None or where not in (Standing.RUNNING, Standing.CANARY):
        return ""
    then = "If it goes well, all" if where is Standing.CANARY else "All"
    left = duration(eta.seconds) if eta.seconds >= 1 else f"1{NBSP}s"
    return f"{then} will have been sent by {clock_seconds(eta.at)}, in {left}."
