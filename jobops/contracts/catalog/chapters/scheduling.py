"""What moves by time: delayed jobs, retries, the leading scheduler's duties; and what of schedules is to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.words import NOT_BUILT, NOT_MEASURED, span

INTRO = (
    "Redis's clock decides what is due. Any number of schedulers may run; one leads and does the duties, and each duty "
    "is right when two do it at once. Promotion and rescue go on without any scheduler, in the workers."
)
COLUMNS = ("what", "by design", "measured")


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """Delayed jobs and retries, who leads, recurring schedules (not built), and the duties with their intervals."""
    delayed = f"{measured.live.delayed:,} delayed" if measured.live else NOT_MEASURED
    moved = (
        f"one sorted set for all tenants (rq-scheduler's), looked at every {span(installation.promote_every_s)}; due "
        "jobs return to their queues in atomic batches, in the order of their due times"
    )
    lock = f"a lock that lasts {span(installation.leader_lock_s)}; it saves work and is not what correctness rests on"
    rows = [
        ("Delayed jobs and retries", moved, delayed),
        ("Leadership", lock, ""),
        ("Recurring schedules", NOT_BUILT, ""),
        ("Overlap policy", NOT_BUILT, ""),
        ("Missed-run policy", NOT_BUILT, ""),
        ("Duties of the leader", "; ".join(_duties(installation)) or "none", ""),
    ]
    return Chapter("scheduling", "Scheduling", INTRO, COLUMNS, tuple(rows))


def _duties(installation: Installation) -> Iterator[str]:
    for pace_s in sorted({every_s for _, every_s in installation.duties}):
        names = sorted(name for name, every_s in installation.duties if every_s == pace_s)
        yield f"every {span(pace_s)}: {', '.join(names)}"
