"""What stands still and why, and what watches over a replay: its canary and its breaker, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlq.bulk_progress import Progress
from dlq.models import ReplayPlan
from dlq.replay_guard import BreakerStanding
from jobops.web.charts import Gauge, gauge
from jobops.web.formats import clock_seconds, duration, number
from jobops.web.replay_words import STOPPED, Standing
from jobops.web.words import Look


@dataclass(frozen=True, slots=True)
class Stop:
    """A banner over a replay that stands still: what, why, what to do. ``tone``: ``d`` red, ``i`` blue, empty amber.
    ``resume``: what stands on the button that lets it go on."""

    tone: str
    icon: str
    what: str
    why: str
    then: str
    resume: str


def stop_of(where: Standing, plan: ReplayPlan | None, at: Progress, *, staff: bool, who: str = "") -> Stop | None:
    """The banner of a replay that stands still; None while it goes on. ``who``: who paused it, as this reader may
    read it."""
    if where not in STOPPED or plan is None:
        return None
    left, why = _left(at), plan.paused_why.rstrip(".")
    if where is Standing.PAUSED:
        when = f" at {clock_seconds(plan.paused_at)}" if plan.paused_at else ""
        said = f": “{why}”" if why else ""
        return Stop("", "pausef", f"{who or 'Somebody'} paused it{when}{said}.", left, "", "Resume")
    mend = "Mend the cause first" if staff else "Wait until the cause is mended"
    if where is Standing.CANARY_STOPPED:
        did = _did_not(at.canary.failed, at.canary.total, "", staff=staff) if at.canary else ""
        by = "The canary stopped it" if staff else "It stopped by itself"
        again = "run a new canary" if staff else "try the next ones"
        then = f"{mend}, then {again}; or cancel the rest."
        resume = "Run a new canary" if staff else "Try the next ones"
        return Stop(
            "d", "octagon", f"{by}: {did or 'too many did not succeed'}.", f"{left} {_listed(at)}", then, resume
        )
    did = _did_not(at.breaker.failed, at.breaker.ended, "last ", staff=staff) if at.breaker else ""
    by = "The breaker stopped it" if staff else "It stopped by itself"
    then = f"{mend}, then let it go on: what ended before does not count any more."
    return Stop("d", "octagon", f"{by}: {did or why or 'too many did not succeed'}.", left, then, "Go on")


def _did_not(failed: int, of: int, which: str, *, staff: bool) -> str:
    """``2 of 5 did not succeed``; empty where none failed."""
    where = f"the {which}{number(of)}" if which else number(of)
    return f"{number(failed)} of {where} did not {'succeed' if staff else 'work'}" if failed else ""


def _left(at: Progress) -> str:
    one = at.waiting == 1
    waits = f"{number(at.waiting)} {'waits' if one else 'wait'} and nothing happens to {'it' if one else 'them'}."
    if not at.running:
        return waits
    if at.running == 1:
        return f"{waits} 1 job that was sent goes on to its end."
    return f"{waits} {number(at.running)} jobs that were sent go on to their end."


def _listed(at: Progress) -> str:
    return "Those that did not are listed below." if at.died else ""


@dataclass(frozen=True, slots=True)
class Guard:
    """What watches over a replay: how it looks, and a sentence. ``gauge``: how near it is to its limit."""

    look: Look
    text: str
    gauge: Gauge | None = None


def guards(where: Standing, plan: ReplayPlan | None, at: Progress, *, staff: bool) -> Sequence[Guard]:
    """The canary and the breaker, those that there are."""
    found = [_canary(where, plan, at, staff=staff), _breaker(where, plan, at, staff=staff)]
    return [guard for guard in found if guard is not None]


def _canary(where: Standing, plan: ReplayPlan | None, at: Progress, *, staff: bool) -> Guard | None:
    canary = at.canary
    if plan is None or not plan.canary or canary is None or not (canary.total or where is Standing.SCHEDULED):
        return None
    total = canary.total or plan.canary
    what, worked = ("Canary", "succeeded") if staff else ("First ones", "worked")
    well = f"{number(canary.succeeded)} of {number(total)} {worked}"
    if where is Standing.CANARY_STOPPED:
        most = f"More than {plan.canary_failures} stop it" if plan.canary_failures else "One that does not stops it"
        look = Look(f"{what} stopped it", "octagon", "danger")
        return Guard(look, f"{well}, {number(canary.failed)} did not. {most}.")
    if plan.phase == ReplayPlan.Phase.REST:
        return Guard(Look(f"{what} passed", "circle-check", "ok"), f"{well}{_took(plan)}.")
    if where is Standing.CANCELLED:
        return Guard(Look(f"{what} not finished", "player-stop", "calm"), f"{well}; it was cancelled.")
    if where is Standing.SCHEDULED or not at.done:
        return Guard(Look(f"{what} to come", "ring", "calm"), f"{number(total)} run first, watched to the end.")
    if where is Standing.PAUSED:
        return Guard(Look(f"{what} paused", "pausef", "hold"), f"{well} so far.")
    left = max(0, total - canary.succeeded - canary.failed)
    return Guard(Look(f"{what} running", "refresh", "accent"), f"{well} so far; {number(left)} to go.")


def _took(plan: ReplayPlan) -> str:
    if plan.canary_passed_at is None or plan.bulk.started_at is None:
        return ""
    since = max(filter(None, (plan.bulk.started_at, plan.start_at)))
    seconds = (plan.canary_passed_at - since).total_seconds()
    return f", {duration(seconds)} after the start" if seconds >= 1 else ""


def _most(breaker: BreakerStanding) -> str:
    return f"it stops above {number(breaker.may_fail)} of {number(breaker.window)}"


def _breaker(where: Standing, plan: ReplayPlan | None, at: Progress, *, staff: bool) -> Guard | None:
    if plan is None or at.breaker is None or plan.breaker_percent >= 100:
        return None
    what = "Breaker" if staff else "Brake"
    again = "died again" if staff else "failed again"
    window, failed, limit = at.breaker.ended, at.breaker.failed, at.breaker.limit_percent
    # Of the whole window, as it is judged.
    percent = failed / at.breaker.window * 100
    if plan.canary and plan.phase == ReplayPlan.Phase.CANARY:
        text = f"It guards what follows {'the canary' if staff else 'them'}: {_most(at.breaker)}."
        return Guard(Look(f"{what} to come", "ring", "calm"), text)
    told = f"{number(failed)} of the last {number(window)} {again}." if window else "None has ended yet."
    text = f"{told} {_most(at.breaker).capitalize()}."
    share = f"{number(failed)} of the last {number(window)} {again}; {_most(at.breaker)}"
    meter = gauge(percent, limit, share)
    if where is Standing.BREAKER_TRIPPED:
        return Guard(Look(f"{what} tripped", "octagon", "danger"), text, meter)
    return Guard(Look(f"{what} not tripped", "gauge", ""), text, meter)
