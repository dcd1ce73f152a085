"""What is watched, from where on it is too much, and who answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jobops.contracts.catalog.design import Chapter, JobDesign
from jobops.contracts.catalog.facts import Installation, Measured
from jobops.contracts.catalog.words import NOT_BUILT, listed, span

INTRO = (
    "Each threshold is the one that the pages and alerts use. Where it is seen at /alerts/, its team is told through "
    "its channels, or through those of the default team; of the others who answers has to look."
)
COLUMNS = ("signal", "threshold", "seen at", "who answers")


def chapter(jobs: Sequence[JobDesign], installation: Installation, measured: Measured) -> Chapter:
    """The signals of the installation, and each team's dead letters with the time it has."""
    rows = [
        *((signal.name, signal.threshold, signal.seen_at, signal.who) for signal in installation.signals),
        *_letters(jobs),
        ("Metrics for Prometheus", NOT_BUILT, NOT_BUILT, installation.default_owner),
    ]
    return Chapter("observability", "Observability", INTRO, COLUMNS, tuple(rows))


def _letters(jobs: Sequence[JobDesign]) -> Iterator[tuple[str, str, str, str]]:
    """A row for each owner and time: the job types that share both are named in it."""
    teams: dict[tuple[str, float], list[str]] = defaultdict(list)
    for job in jobs:
        teams[job.owner, job.drain_sla_s].append(job.name)
    for (owner, sla_s), names in sorted(teams.items()):
        yield f"Dead letters of {listed(names)}", f"not drained within {span(sla_s)}", "/dlq/, overview", owner
