"""Judges a chaos run: by what the jobs did, by the leases that Redis accepted, and by what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from jobops.engine.records import JobView, NewJob
from tests.chaos.cast import DOOMED
from tests.chaos.jobs import NARROW, STEPS
from tests.chaos.theatre import Nap
from tests.chaos.verdict import Line, Run, doubled, peaks, runs, starts

ZOMBIE_NS = 1_000_000_000
"""A process that is woken after its lease was given away is ended within this time."""


@dataclass
class Evidence:
    """``coalesced``: ids that gave way to a job of the same key. ``seen``: the most of each tenant, and of the
    resource, that was ever seen in flight. ``left``: what is there after all has ended. ``doctor``: what it found."""

    jobs: list[NewJob]
    caps: dict[str, int]
    coalesced: set[str] = field(default_factory=set)
    views: dict[str, JobView | None] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    killed: dict[int, int] = field(default_factory=dict)
    naps: list[Nap] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    doctor: list[str] = field(default_factory=list)

    @property
    def ran(self) -> list[NewJob]:
        """Those that were to run."""
        return [job for job in self.jobs if job.id not in self.coalesced]


def judge(evidence: Evidence) -> list[str]:
    """Everything that should not be. Empty: all was right."""
    found = [*_fates(evidence), *_starts(evidence), *_steps(evidence), *_caps(evidence), *_zombies(evidence)]
    return [*found, *(f"left over: {each}" for each in evidence.left), *(f"doctor: {each}" for each in evidence.doctor)]


def _fates(evidence: Evidence) -> Iterator[str]:
    """Nothing lost, nothing stuck; what succeeded ran to its end, and only what must die died."""
    ended = {line.job for line in evidence.lines if line.word == "end"}
    for job in evidence.ran:
        view = evidence.views.get(job.id)
        if view is None:
            yield f"{job.id} is lost"
        elif view.state not in ("succeeded", "dead"):
            yield f"{job.id} is stuck as {view.state}"
        elif view.state == "succeeded" and job.id not in ended:
            yield f"{job.id} succeeded without having run to its end"
        elif (view.state == "dead") != (job.job_type in DOOMED):
            yield f"{job.id} is {view.state} after {view.attempts} of {job.max_attempts} attempts"


def _starts(evidence: Evidence) -> Iterator[str]:
    """At most as many as its attempts and the starts that were given back."""
    started = starts(evidence.lines)
    given_back = Counter(line.job for line in evidence.lines if line.word == "later")
    for job in evidence.ran:
        numbers, free = started.get(job.id, []), given_back[job.id]
        if len(numbers) > job.max_attempts + free:
            yield f"{job.id} started {len(numbers)} times, {job.max_attempts} are allowed and {free} given back"
        if numbers != sorted(numbers) or len(numbers) - len(set(numbers)) > free:
            yield f"{job.id} started its attempts {numbers}, of which {free} were given back"
    for name in sorted(evidence.coalesced & set(started)):
        yield f"{name} ran though it had given way to another"


def _steps(evidence: Evidence) -> Iterator[str]:
    """A job goes on from what it saved, never from before it, and leaves no step out."""
    saved: dict[str, int] = {}
    steps: dict[str, set[int]] = {}
    is_first: dict[str, bool] = {}
    for line in evidence.lines:
        word, _, number = line.word.partition(":")
        if word == "start":
            is_first[line.job] = True
        elif word == "step":
            if is_first.get(line.job) and int(number) <= saved.get(line.job, 0):
                yield f"{line.job} went back to step {number}, it had saved {saved[line.job]}"
            is_first[line.job] = False
            steps.setdefault(line.job, set()).add(int(number))
        elif word == "saved":
            saved[line.job] = max(saved.get(line.job, 0), int(number))
    for job in evidence.ran:
        if job.job_type == "chaos.steps" and (missing := set(range(1, STEPS + 1)) - steps.get(job.id, set())):
            yield f"{job.id} left out steps {sorted(missing)}"


def _caps(evidence: Evidence) -> Iterator[str]:
    """By the leases as Redis gave and ended them, by what was seen in flight, and by what ran awake."""
    leases, awake = accepted(evidence), _awake(evidence)
    sides = {
        "leases": peaks(leases),
        "in flight": evidence.seen,
        "jobs": peaks((run.tenant, run.begin, run.end) for run in awake),
        "narrow jobs": peaks(("narrow", run.begin, run.end) for run in awake if run.job.startswith("narrow-")),
    }
    for side, highest in sides.items():
        for name, peak in sorted(highest.items()):
            if peak > (limit := {**evidence.caps, "narrow": NARROW}[name]):
                yield f"{name}: {peak} {side} at once, {limit} are allowed"


def accepted(evidence: Evidence) -> list[tuple[str, int, int]]:
    """(tenant or resource, from, to) of each lease, in ms of Redis's clock."""
    found = []
    for job in evidence.ran:
        view = evidence.views.get(job.id)
        for attempt in view.history if view is not None else ():
            if attempt.started_at and attempt.ended_at:
                span = (_ms(attempt.started_at), _ms(attempt.ended_at))
                found += [(name, *span) for name in (job.tenant, job.resource) if name]
    return found


def _awake(evidence: Evidence) -> list[Run]:
    """What ran in processes that were never stopped: a sleeping one's lease is given away, its process still there."""
    slept = {pid for nap in evidence.naps for pid in nap.pids}
    return [run for run in runs(evidence.lines, evidence.killed) if run.pid not in slept]


def _zombies(evidence: Evidence) -> Iterator[str]:
    """Two runs of one job overlap in processes that were stopped only, and no longer than it takes to end them."""
    woken = {pid: nap.woken_at for nap in evidence.naps for pid in nap.pids}
    for earlier, later in doubled(runs(evidence.lines, evidence.killed)):
        if earlier.pid not in woken:
            yield f"{earlier.job} ran twice at once: attempts {earlier.attempt} and {later.attempt}"
        elif earlier.how != "killed" and earlier.end - woken[earlier.pid] > ZOMBIE_NS:
            late = (earlier.end - woken[earlier.pid]) / 1e9
            yield f"{earlier.job}: attempt {earlier.attempt} went on for {late:.1f} s after its worker woke"


def _ms(instant: datetime) -> int:
    return round(instant.timestamp() * 1000)
