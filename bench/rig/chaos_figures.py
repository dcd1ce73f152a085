"""What a chaos run came to, in figures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rig.report import Row
from tests.chaos.judgement import Evidence, accepted
from tests.chaos.play import Play
from tests.chaos.theatre import Theatre
from tests.chaos.verdict import doubled, peaks, runs


def rows(evidence: Evidence, theatre: Theatre, play: Play) -> list[Row]:
    """The table."""
    ran = runs(evidence.lines, evidence.killed)
    states = Counter(view.state if (view := evidence.views.get(job.id)) else "lost" for job in evidence.ran)
    acts = sorted(theatre.acts.items())
    return [
        Row("jobs", len(evidence.jobs), "jobs"),
        *(Row(f"jobs: {state}", count, "jobs") for state, count in sorted(states.items())),
        Row("jobs: gave way to one of the same key", len(evidence.coalesced), "jobs"),
        Row("harm, once every second or so", sum(theatre.acts.values()), "times"),
        *(Row(f"harm: {kind}", count, "times") for kind, count in acts),
        Row("processes killed in the middle of a job", sum(run.how == "killed" for run in ran), "times"),
        Row("starts", len(ran), "starts"),
        Row("starts after the first of a job", len(ran) - len({run.job for run in ran}), "starts"),
        Row("runs of one job at once, in a process that slept", len(doubled(ran)), "times"),
        Row("longest of those after it woke", longest_zombie_s(evidence), "s"),
        Row("longest from a lost process to the end of its lease", longest_gap_s(evidence), "s"),
        Row("harm lasted", play.harmed_s, "s"),
        Row("until all had ended after it", play.drained_s, "s"),
    ]


def longest_zombie_s(evidence: Evidence) -> float:
    """How long a process went on with a job that was given to another one, from its waking."""
    woken = {pid: nap.woken_at for nap in evidence.naps for pid in nap.pids}
    late = [
        (earlier.end - woken[earlier.pid]) / 1e9
        for earlier, _ in doubled(runs(evidence.lines, evidence.killed))
        if earlier.pid in woken and earlier.how != "killed"
    ]
    return max(late, default=0.0)


def longest_gap_s(evidence: Evidence) -> float:
    """How long Redis held a lease whose process was dead, at most: until it was told, or the lease ran out."""
    started = {(run.job, run.attempt): run for run in runs(evidence.lines, evidence.killed) if run.how == "killed"}
    gaps = [0.0]
    for view in evidence.views.values():
        for attempt in view.history if view is not None else ():
            run = started.get((view.id, attempt.number)) if view is not None else None
            if run and attempt.outcome == "worker_lost" and attempt.started_at and attempt.ended_at:
                # Both ends of the lease are on the wall clock; the run's on the monotonic one, from its start.
                held = (attempt.ended_at - attempt.started_at).total_seconds()
                gaps.append(held - (run.end - run.begin) / 1e9)
    return max(gaps)


def highest(evidence: Evidence) -> dict[str, Any]:
    """Tenant or resource → the most leases at once, as Redis gave and ended them."""
    return peaks(accepted(evidence))
