"""The attempts of a job, one line each: from its record in Redis or from its dead letter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from dlq.models import ReplayRun
from jobops.contracts import masking
from jobops.contracts.job_type import JobType
from jobops.contracts.secret_values import Secrets
from jobops.engine.records import Attempt, JobView
from jobops.web import charts
from jobops.web.formats import duration, run_time

WELL: dict[str, str] = {ReplayRun.State.SUCCEEDED: "succeeded", ReplayRun.State.DISCARDED: "discarded"}
"""Ends of a replay that are no death, as outcomes of its last attempt."""


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One start: how long it ran or runs (seconds), after which wait, and a bar up to the time-out.

    ``replay``: the number of the replay that it was a start of; 0 for the job itself.
    """

    attempt: Attempt
    ran_s: float | None
    waited_s: float | None
    bar: charts.Bar | None
    replay: int = 0

    @property
    def anchor(self) -> str:
        """What tells it from all others on the page."""
        return f"{self.replay}-{self.attempt.number}" if self.replay else str(self.attempt.number)


def attempt_lines(
    job: JobView, job_type: JobType | None, secrets: Secrets, now: datetime, replays: Sequence[int] = ()
) -> list[AttemptLine]:
    """Every start that is known, the first one first; errors without ``secrets``. ``replays``: of which replay each
    was, where the record is a letter's."""
    known = [replace(one, error=masking.masked_text(one.error, secrets)) for one in job.history]
    if job.state == "started" and (not known or known[-1].number < job.attempts):
        known.append(Attempt(job.attempts, job.worker, job.started_at, None, "", "", ""))
    longest = (
        job_type.timeout.total_seconds() if job_type else max((_ran(one, now) or 0.0 for one in known), default=0.0)
    )
    lines: list[AttemptLine] = []
    ended: datetime | None = None
    for index, one in enumerate(known):
        ran = _ran(one, now)
        waited = (one.started_at - ended).total_seconds() if one.started_at and ended else None
        bar = charts.bar(ran, longest, run_time(ran), width=96) if ran is not None and longest else None
        lines.append(AttemptLine(one, ran, waited, bar, replays[index] if index < len(replays) else 0))
        ended = one.ended_at
    return lines


def with_ends(lines: Sequence[AttemptLine], runs: Sequence[ReplayRun]) -> list[AttemptLine]:
    """The attempts of a letter, and the last ones of its replays that did not die: of those the letter tells nothing,
    and when they started is not kept. Nothing is added where none of its own are known: what is counted must be all."""
    if not lines:
        return []
    found, told = list(lines), {line.replay for line in lines}
    for run in sorted(runs, key=lambda run: run.number):
        if run.state in WELL and run.attempt and run.number not in told:
            attempt = Attempt(run.attempt, "", None, run.ended_at, WELL[run.state], "", "")
            found.append(AttemptLine(attempt, None, None, None, run.number))
    return sorted(found, key=lambda line: line.replay)


def attempts_note(lines: Sequence[AttemptLine], *, staff: bool = True) -> str:
    """How long they took, and how the waits grew: ``over 37 min; waits grew from 4 s to 32 min``. Of a job that was
    replayed, the newest replay's: ``the replay took 37 min``."""
    again = {line.replay for line in lines if line.replay}
    lines = [line for line in lines if line.replay == max(again, default=0)]
    first = next((line.attempt.started_at for line in lines if line.attempt.started_at), None)
    last = next((line.attempt.ended_at for line in reversed(lines) if line.attempt.ended_at), None)
    if len(lines) < 2 or first is None or last is None:
        return ""
    waits = [line.waited_s for line in lines[1:] if line.waited_s is not None]
    grew = f"; waits grew from {duration(waits[0])} to {duration(waits[-1])}" if waits and _grew(waits) else ""
    took = duration((last - first).total_seconds())
    if not again:
        return f"over {took}{grew}"
    newest = "newest " if len(again) > 1 else ""
    return f"the {newest}{'replay' if staff else 'new try'} took {took}{grew}"


def _grew(waits: Sequence[float]) -> bool:
    return len(waits) > 1 and waits[0] >= 1 and waits[0] < waits[-1] and duration(waits[0]) != duration(waits[-1])


def _ran(attempt: Attempt, now: datetime) -> float | None:
    """Seconds; of one that still runs, until now."""
    end = attempt.ended_at or (now if not attempt.outcome else None)
    if attempt.started_at is None or end is None:
        return None
    return max(0.0, (end - attempt.started_at).total_seconds())
