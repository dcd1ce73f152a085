"""Those who do the work: workers, their slots and leases, the scheduler, and the clocks of their hosts."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.alerts.signals.base import YES_OR_NO, Reading, Signal
from jobops.alerts.sources import Sources
from jobops.contracts.catalog.words import plural
from jobops.metrics.rows import WINDOW_MINUTES, total


def stalled(sources: Sources) -> Iterator[Reading]:
    """Leases that ran out a while ago, and that nobody rescued."""
    count = sources.stalled_jobs
    title = f"{plural(count, 'job')} lost their worker, and nobody rescues them"
    yield Reading("all", count, title, detail="A scheduler or any worker does that within a second", path="/workers/")


def use(sources: Sources) -> Iterator[Reading]:
    """The part of the slots' time that jobs used in the last minutes."""
    slots = [slot for one in sources.supervisors if one.state != "lost" for slot in one.slots if slot.state != "lost"]
    window_s = sources.fleet.history.window_s(WINDOW_MINUTES)
    if not slots or window_s <= 0:
        return
    used_ms = total(sources.counters.values()).worker_ms
    share = min(100.0, used_ms / 10 / (len(slots) * window_s))
    title = f"{share:.0f} % of the time of {plural(len(slots), 'slot')} is used: start more workers, or lower caps"
    yield Reading("all", share, title, path="/workers/")


def lanes_without_worker(sources: Sources) -> Iterator[Reading]:
    """Lanes in which something waits, and no living worker takes from them."""
    for found in sources.unserved_lanes:
        yield Reading(
            subject=f"lane={found.name}",
            value=found.depth,
            title=found.text,
            scope={"lane": found.name},
            path="/workers/",
        )


def no_scheduler(sources: Sources) -> Iterator[Reading]:
    """Whether a scheduler leads. A scheduler that asks does; it is the web processes that find out otherwise."""
    title = "No scheduler leads: delayed jobs, deaths, the outbox and alerts stand still; run `manage.py scheduler`"
    yield Reading("all", float(not sources.has_scheduler), title, path="/workers/")


def clocks(sources: Sources) -> Iterator[Reading]:
    """How far this host's clock and Redis's differ."""
    away = sources.clock_difference_s
    title = (
        f"The clocks of this host and of Redis differ by {away:.1f} s: ages, due times and deadlines are off by that"
    )
    yield Reading("all", away, title, path="/workers/")


SIGNALS = (
    Signal(
        name="stalled",
        title="Lost jobs that nobody rescues",
        unit="jobs",
        threshold=0,
        clears_at=0,
        for_s=60,
        calm_s=60,
        severity="high",
        about="Leases that ran out over ten seconds ago; after an outage of Redis rescue waits for one lease.",
        read=stalled,
    ),
    Signal(
        name="worker_use",
        title="Workers are fully used",
        unit="% of the slots' time",
        threshold=90,
        clears_at=80,
        for_s=600,
        calm_s=600,
        severity="normal",
        about="Worker time that jobs used over the last five minutes, of that which the living slots had.",
        read=use,
    ),
    Signal(
        name="no_worker",
        title="A lane without a worker",
        unit="jobs",
        threshold=0,
        clears_at=0,
        for_s=30,
        calm_s=30,
        severity="critical",
        about="Jobs that wait in a lane which no living worker serves.",
        read=lanes_without_worker,
        parts=(frozenset({"lane"}),),
    ),
    Signal(
        name="no_scheduler",
        title="No scheduler",
        unit=YES_OR_NO,
        threshold=0,
        clears_at=0,
        for_s=30,
        calm_s=10,
        severity="critical",
        about="Whether any scheduler leads; the web processes look too, each time that /readyz is asked for.",
        read=no_scheduler,
    ),
    Signal(
        name="clock_skew",
        title="Clocks that differ",
        unit="seconds",
        threshold=5,
        clears_at=2,
        for_s=60,
        calm_s=300,
        severity="normal",
        about="The difference between the clock of the scheduler's host and Redis's.",
        read=clocks,
    ),
)
