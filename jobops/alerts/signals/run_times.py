"""Run times: a job type whose slowest runs take much longer than they usually do."""

from __future__ import annotations

from collections.abc import Iterator

from jobops.alerts.signals.base import Reading, Signal
from jobops.alerts.sources import Sources
from jobops.contracts.catalog.words import span

TWICE = 2.0


def slow_types(sources: Sources) -> Iterator[Reading]:
    """Each job type of which enough is known, as so many times its baseline."""
    for job_type, times in sources.run_times.items():
        usual = sources.baselines.get(job_type.name)
        if times.p99_s is None or usual is None:
            continue
        yield Reading(
            subject=f"type={job_type.name}",
            value=times.p99_s / usual,
            title=f"{job_type.name} is slow: 1 of 100 runs takes over {span(times.p99_s / 2)}, usually {span(usual)}",
            detail=f"{times.runs:,} runs in the last {span(times.over_s)}",
            scope={"job_type": job_type.name, "team": job_type.owner or ""},
            owner=job_type.owner or "",
            path="/catalog/",
        )


SIGNALS = (
    Signal(
        name="run_time",
        title="A job type runs slowly",
        unit="times its baseline",
        threshold=TWICE,
        clears_at=1.5,
        for_s=120,
        calm_s=600,
        severity="normal",
        about="How long 99 of 100 runs of a job type take at most, beside what is usual of it.",
        read=slow_types,
        parts=(frozenset({"job_type", "team"}),),
    ),
)
