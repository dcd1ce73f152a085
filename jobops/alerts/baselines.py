"""What is usual of a job type's run times. Learned from what runs, slowly, and almost not at all while it is slow."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from jobops.alerts.models import RunTimeBaseline

EVERY = timedelta(minutes=15)
"""As long as the counters reach back: each run counts once."""
LEAST_SAMPLES = 4
USUAL_STEP, SLOW_STEP, SLOW = 0.2, 0.005, 2.0
"""How far the baseline moves towards what is measured. What stays twice as slow is what is usual after about a day."""


def known() -> dict[str, float]:
    """Seconds by name of the job type, of those that were measured for an hour or longer. One query."""
    rows = RunTimeBaseline.objects.filter(samples__gte=LEAST_SAMPLES)
    return {name: p99_s for name, p99_s in rows.values_list("job_type", "p99_s") if p99_s > 0}


def learn(measured: Mapping[str, float], now: datetime) -> int:
    """Take what was measured (seconds by name) into the baselines that are due; answers how many moved.

    Whoever else learns at the same moment: one of the two counts.
    """
    rows = {row.job_type: row for row in RunTimeBaseline.objects.filter(job_type__in=list(measured))}
    fresh = [
        RunTimeBaseline(job_type=name, p99_s=p99_s, updated_at=now)
        for name, p99_s in measured.items()
        if name not in rows
    ]
    RunTimeBaseline.objects.bulk_create(fresh, ignore_conflicts=True)
    moved = len(fresh)
    for name, row in rows.items():
        if row.updated_at <= now - EVERY:
            step = SLOW_STEP if measured[name] > row.p99_s * SLOW else USUAL_STEP
            target = row.p99_s + (measured[name] - row.p99_s) * step
            mine = RunTimeBaseline.objects.filter(pk=name, updated_at=row.updated_at)
            moved += mine.update(p99_s=target, samples=row.samples + 1, updated_at=now)
    return moved
