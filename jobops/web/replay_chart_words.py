"""The charts of a running replay and what they say: how fast it goes, and what live traffic feels of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobops.metrics.waits import Wait
from jobops.web.charts import Trend, trend
from jobops.web.formats import decimal, plain, run_time
from jobops.web.replay_words import Eta, PlanLike, rest_s
from jobops.web.selectors.replay_run import STEP_S, STEPS

SPAN = timedelta(seconds=STEP_S * STEPS)
LATELY = 3
NOTICED_S, NOTICED = 1.0, 1.5
"""A wait that is longer by less than this, or by less than this factor, is no change."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with what it says: what stands out, and the rest."""

    claim: str
    rest: str
    chart: Trend | None


def speed_figure(starts: Sequence[int], plan: PlanLike | None) -> Figure:
    """Starts a second."""
    limit = plan.rate if plan is not None and not plan.spread_s else None
    rates = [count / STEP_S for count in starts]
    claim = f"{decimal(lately(starts))} starts per second"
    rest = f"limit {plain(limit)}" if limit else ""
    label = f"Starts per second over the last 2 minutes, at most {decimal(max(rates, default=0.0))}"
    return Figure(claim, rest, trend(rates, label, limit=limit))


def lately(starts: Sequence[int]) -> float:
    """Starts a second in the last steps."""
    newest = list(starts)[-LATELY:]
    return sum(newest) / (len(newest) * STEP_S) if newest else 0.0


def eta_of(waiting: int, starts: Sequence[int], plan: PlanLike | None, now: datetime) -> Eta | None:
    """When the last one is sent: at the pace it has, or else at the one it is to have. None: nobody can tell."""
    if not waiting:
        return None
    pace = lately(starts)
    seconds = waiting / pace if pace else rest_s(waiting, plan) if plan is not None and not plan.spread_s else None
    return None if seconds is None else Eta(seconds, now + timedelta(seconds=seconds))


def wait_figure(waits: Sequence[Wait], lane: str, started_at: datetime | None, now: datetime) -> Figure | None:
    """How long live jobs of the first lane wait, and whether that is more than before it began; None: not known."""
    shown = [wait for wait in waits if wait.at > now - SPAN]
    if not shown:
        return None
    newest = _mean(shown[-LATELY:])
    before = [wait for wait in waits if started_at is not None and wait.at < started_at]
    chart = trend([wait.seconds for wait in shown], _label(lane, shown), tone="mark", floor=5.0)
    claim = f"{run_time(newest)} wait, live {lane} jobs" if newest else f"No live {lane} job waits"
    return Figure(claim, _compared(newest, before) if newest else "", chart)


def _compared(newest: float, before: Sequence[Wait]) -> str:
    if not before:
        return "how it was before the start was not measured"
    was = _mean(before[-LATELY * 4 :])
    if newest - was < NOTICED_S or newest < was * NOTICED:
        return "not longer than before the start" if newest < was else "unchanged since the start"
    return f"{run_time(was)} before the start"


def _mean(waits: Sequence[Wait]) -> float:
    return sum(wait.seconds for wait in waits) / len(waits)


def _label(lane: str, waits: Sequence[Wait]) -> str:
    longest = max(wait.seconds for wait in waits)
    return f"Wait of live {lane} jobs over the last 2 minutes: at most {run_time(longest)}"
