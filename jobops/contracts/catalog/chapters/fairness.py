"""Who gets the workers, and within what bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.words import NOT_MEASURED, listed, plural, span

INTRO = (
    "Start-time fair queueing over worker time: between lanes by their shares, within a lane between tenants by their "
    "weights. Who runs long pays long; who slept has saved nothing up; nobody waits for another tenant's backlog."
)
RULE = "the lane, then the tenant, with the least virtual time; a tenant's moves by worker time / weight"
COLUMNS = ("what", "by design", "measured")
Row = tuple[str, str, str]


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """The rule, each lane with its longest run, the bound with its numbers, and the limits of tenants."""
    rows = [
        ("Rule", RULE, ""),
        *_lanes(jobs, installation, measured),
        _bound(jobs, installation, measured),
        *_limits(installation, measured),
        *_resources(jobs),
    ]
    return Chapter("fairness", "Fairness", INTRO, COLUMNS, tuple(rows))


def longest_run_s(jobs: Sequence[JobDesign], installation: Installation) -> float:
    """How long one run may hold a slot: the longest time-out, and what a kill takes. 0 without a job type."""
    return max((job.timeout_s for job in jobs), default=-installation.grace_s) + installation.grace_s


def _lanes(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Iterator[Row]:
    shares = sum(installation.lanes.values())
    for lane, share in installation.lanes.items():
        mine = [job for job in jobs if job.lane == lane]
        longest = longest_run_s(mine, installation)
        names = [job.name for job in mine if job.timeout_s + installation.grace_s == longest]
        run = f"longest run {span(longest)} ({listed(names, 3)})" if mine else "no job type"
        live = measured.live
        now = f"{live.waiting.get(lane, 0):,} waiting, {live.running.get(lane, 0):,} running" if live else NOT_MEASURED
        yield f"Lane {lane}", f"share {share:g} of {shares:g}; {plural(len(mine), 'job type')}; {run}", now


def _bound(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Row:
    rule = (
        "two tenants that stay runnable in one lane differ in worker time / weight by at most "
        "slots × (La/wa + Lb/wb), L the longest run, w the weight"
    )
    longest = longest_run_s(jobs, installation)
    if measured.live is None:
        return "Bound", rule, NOT_MEASURED
    slots = measured.live.slots
    return "Bound", rule, f"{plural(slots, 'slot')}, weights of 1: at most {span(slots * 2 * longest)}"


def _limits(installation: Installation, measured: Measured) -> Iterator[Row]:
    found = measured.tenants
    cap = "none" if installation.default_cap is None else f"{installation.default_cap}"
    capped = depth = weight = NOT_MEASURED
    if found is not None:
        of = plural(found.count, "tenant")
        capped = f"{of}, {found.uncapped} without a cap"
        depth = f"{of}, {found.without_depth_limit} without a limit"
        weight = f"the smallest is {found.lightest:g}" if found.lightest is not None else of
    yield "Weight", "a tenant's part of the worker time while others are backlogged too; 1 unless set", weight
    yield "Cap", f"most jobs of a tenant in flight, looked at by each claim; {cap} unless set", capped
    yield "Rate", "most starts of a tenant in a time, as a token bucket; any unless set", ""
    yield "Depth limit", "most jobs of a tenant that wait; above it an enqueue is refused; none unless set", depth


def _resources(jobs: Sequence[JobDesign]) -> Iterator[Row]:
    """What job types share, with its limit over all tenants. Its waiters keep their place and hold no slot."""
    shared: dict[str, list[JobDesign]] = {}
    for job in jobs:
        if job.limits.resource:
            shared.setdefault(job.limits.resource, []).append(job)
    for resource, users in sorted(shared.items()):
        limits = users[0].limits
        names = listed([job.name for job in users])
        yield f"Resource {resource}", f"{limits.declared or 'no limit is declared'}; needed by {names}", limits.changed
