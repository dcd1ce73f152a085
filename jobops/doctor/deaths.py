"""Which deaths the database knows."""

from __future__ import annotations

from collections.abc import Sequence

from dlq.letters import identity
from dlq.models import DeadLetter, ReplayRun

Death = tuple[str, int]
"""A job's id and the attempt it died in."""


def recorded(deaths: Sequence[Death]) -> set[Death]:
    """Those of the deaths that have a letter, or are the end of a replay of one. Two queries."""
    names = {identity(job_id): job_id for job_id, _attempt in deaths}
    letters = DeadLetter.objects.filter(job_id__in=list(names)).values_list("job_id", "attempt")
    known = {(names[name], attempt) for name, attempt in letters}
    runs = ReplayRun.objects.filter(job_id__in=[job_id for job_id, _attempt in deaths])
    replays = set(runs.values_list("job_id", flat=True))
    return {death for death in deaths if death in known or death[0] in replays}
