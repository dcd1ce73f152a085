"""How many workers there are, when there should be more, and how they stop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.lines import outlasts_drain
from jobops.contracts.catalog.words import NOT_BUILT, NOT_MEASURED, listed, plural, span

INTRO = (
    "A worker is a supervisor with its slots; each slot runs one job at a time in a process of its own. A worker needs "
    "no list of tenants or queues: one more is added by starting it, on any host."
)
COLUMNS = ("what", "by design", "measured")
STOP_MARGIN_S = 15.0
"""What stops the process must wait so much longer than the drain time-out."""


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """Slots, when to add some, what happens to running jobs at a stop and when a worker is lost."""
    rows = (*_slots(installation, measured), *_ends(jobs, installation))
    return Chapter("scaling", "Worker scaling and drain", INTRO, COLUMNS, rows)


def _slots(installation: Installation, measured: Measured) -> Iterator[tuple[str, str, str]]:
    live = measured.live
    most = f"1 to {installation.most_slots} slots a worker (`manage.py worker --processes N`), any number of workers"
    crew = f"{plural(live.workers, 'worker')}, {plural(live.slots, 'slot')}, {live.busy} busy" if live else ""
    yield "Slots", most, crew or NOT_MEASURED
    rule = "while the oldest waiting job gets older, all slots are busy and no cap or pause holds the work back"
    used = "" if live is None or live.used is None else f"{live.used:.0%} of slot time used, last 5 min"
    yield "Add slots", rule, used or NOT_MEASURED
    yield "Autoscaling", NOT_BUILT, ""
    served = f"serve {listed(sorted(live.served))}" if live and live.served else "" if live else NOT_MEASURED
    yield "Lanes", "all that are set, or those that `--lanes` names", served
    yield "Growth", "`--max-jobs` and `--max-memory` replace a slot between two jobs", ""


def _ends(jobs: Sequence[JobDesign], installation: Installation) -> Iterator[tuple[str, str, str]]:
    drain_s = installation.drain_timeout_s
    drain = (
        "SIGTERM, SIGINT, SIGHUP or `manage.py workers drain`: nothing more is claimed; running jobs have "
        f"{span(drain_s)} (`--drain-timeout`); what has not ended is killed and given back to the front of its queue, "
        f"its attempt not counted, {installation.free_releases} times for a job"
    )
    yield "Drain", drain, ""
    slow = [job.name for job in jobs if outlasts_drain(job, installation)]
    yield "May outlast the drain", listed(slow, 12) or "no job type: each time-out is shorter", ""
    yield "Stop time-out", f"of whatever stops the worker: the drain time-out and {span(STOP_MARGIN_S)} or more", ""
    lost = (
        f"leases of {span(installation.lease_s)} are renewed every {span(installation.heartbeat_s)}; one that runs out "
        "gives its job back as the next attempt, or lets it die when its attempts are spent"
    )
    yield "Lost worker", lost, ""
    yield "Time-out", f"an error is raised in the job; {span(installation.grace_s)} later its slot is killed", ""
