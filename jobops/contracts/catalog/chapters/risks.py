"""What is taken for true without proof: what happens if it is wrong, and who can say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobops.contracts.catalog.chapters.fairness import longest_run_s
from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.lines import outlasts_drain
from jobops.contracts.catalog.words import listed, plural, span

INTRO = "None of these is proven by the system itself. Each has somebody who can say whether it holds."
COLUMNS = ("open risk", "if it is wrong", "who answers")
Row = tuple[str, str, str]


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """The risks of these job types, then those of the installation."""
    rows = (*_of_jobs(jobs, installation), *_of_installation(jobs, installation))
    return Chapter("risks", "Open risks", INTRO, COLUMNS, rows)


def _of_jobs(jobs: Sequence[JobDesign], installation: Installation) -> Iterator[Row]:
    told = [job for job in jobs if job.idempotent]
    if told:
        yield (
            f"The idempotency of {plural(len(told), 'job type')} is a sentence, taken at its word",
            "a second run, after a lost worker or by a replay, repeats the side effects",
            _owners(told),
        )
    guarded = [job for job in jobs if job.guard]
    if guarded:
        yield (
            f"The keys that guards make name the effect, and nothing else: {_names(guarded)}",
            "two effects under one key happen once, or one under two keys happens twice",
            _owners(guarded),
        )
    if jobs:
        yield (
            "Each time-out is above what good runs take (the p99 beside it says so, once it is measured)",
            "good runs are killed, or a stuck one holds its slot for too long",
            _owners(jobs),
        )
    slow = [job for job in jobs if outlasts_drain(job, installation) and not job.checkpoints]
    if slow:
        yield (
            f"{_names(slow)} may outlast a drain of {span(installation.drain_timeout_s)}, and checkpoint nothing",
            "each deployment starts such a run again from nothing",
            _owners(slow),
        )


def _of_installation(jobs: Sequence[JobDesign], installation: Installation) -> Iterator[Row]:
    team = installation.default_owner
    longest = span(longest_run_s(jobs, installation)) if jobs else "as long as its jobs run"
    yield (
        "Tenants without a cap (see Fairness: Cap) do not send many long jobs at once",
        f"one of them may hold every slot for up to {longest}",
        team,
    )
    yield "Each team that owns jobs has a channel, or the default team has one", "nobody is told of what fires", team
    yield (
        "Redis keeps what it acknowledged (see Boundaries: Durability)",
        "after its crash, jobs that callers believe enqueued are gone, or ended ones run again",
        team,
    )
    yield (
        "Redis has memory left; nothing is evicted",
        "nothing can be claimed or settled, and enqueues wait in the outbox; with eviction on, jobs vanish",
        team,
    )
    yield "One core of one Redis is enough (see bench/)", "every tenant's jobs start later, whatever its weight", team
    yield (
        "Redis's clock is slewed and never stepped",
        "set forward, it ends leases of running jobs, which then run a second time",
        team,
    )


def _names(jobs: Iterable[JobDesign]) -> str:
    return listed([job.name for job in jobs])


def _owners(jobs: Iterable[JobDesign]) -> str:
    return listed(sorted({job.owner for job in jobs}), 12)
