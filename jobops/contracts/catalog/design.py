"""The catalog as data: job types with their contracts, chapters, and the lines that a design is held against."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jobops.contracts.catalog.facts import RunTimes
from jobops.contracts.faults import Fault


@dataclass(frozen=True, slots=True)
class Classifier:
    """What a contract does with which errors, each rule in words. ``in_code``: which of ``Poison``, ``Discard`` and
    ``RetryLater`` the function itself uses. Errors that no rule names are retried."""

    retry: tuple[str, ...] = ()
    poison: tuple[str, ...] = ()
    discard: tuple[str, ...] = ()
    in_code: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether it sorts any error at all."""
        return bool(self.retry or self.poison or self.discard or self.in_code)


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What limits a job type's starts over all tenants and workers, in words; empty: nothing.

    ``resource``: what it shares with others. ``declared``: what the contracts say together of the resource, or of the
    type alone; ``by``: those that say it. ``changed``: what operators put in its place, and who.
    """

    resource: str = ""
    declared: str = ""
    concurrency: int | None = None
    rate: str = ""
    by: tuple[str, ...] = ()
    changed: str = ""


@dataclass(frozen=True, slots=True)
class JobDesign:
    """One job type. Durations in seconds; empty texts and None where the contract says nothing.

    ``owner`` and ``drain_sla_s`` are those in force; ``promises_owner``, ``promises_sla``, ``promises_result_ttl``: the
    contract gives them. ``checkpoints``: its code, or a helper of its module, saves how far it is.
    """

    name: str
    defined_in: str
    aliases: tuple[str, ...]
    trigger: str
    side_effects: str
    guard: str
    idempotent: str
    lane: str
    attempts: int
    backoff: str
    longest_wait_s: float
    jitter: bool
    classifier: Classifier
    lease_s: float
    timeout_s: float
    owner: str
    promises_owner: bool
    drain_sla_s: float
    promises_sla: bool
    redacted: tuple[str, ...]
    run_times: RunTimes
    checkpoints: bool = False
    limits: JobLimits = JobLimits()
    on_unknown: str = "run"
    dedup_window_s: float | None = None
    on_full: str = "refuse"
    result_ttl_s: float = 0.0
    promises_result_ttl: bool = False
    keep_results: int | None = None
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """What holds for all job types: a table with a head. Each row has as many cells as there are ``columns``."""

    key: str
    title: str
    intro: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class State(StrEnum):
    """What became of a line."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_BUILT = "not built"


@dataclass(frozen=True, slots=True)
class Failure:
    """A job type (or a module, or a lane) that breaks a line: how, and what would be right."""

    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line that every design must hold, held by ``held`` of ``of`` job types. ``note``: what else it was judged by,
    and what of it is not built yet. ``measured``: what was measured for it."""

    key: str
    promise: str
    state: State
    note: str
    failures: tuple[Failure, ...] = ()
    held: int = 0
    of: int = 0
    measured: str = ""

    @property
    def judged_by(self) -> str:
        """How many job types hold it, and the note."""
        counts = f"{self.held} of {self.of}" if self.of else ""
        return "; ".join(part for part in (counts, self.note) if part)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The execution design. ``measured_at`` None: nothing was measured, as ``missing`` says."""

    version: str
    jobs: tuple[JobDesign, ...]
    chapters: tuple[Chapter, ...]
    lines: tuple[Line, ...]
    measured_at: datetime | None = None
    missing: str = ""

    @property
    def failed(self) -> tuple[Line, ...]:
        """The lines that do not hold."""
        return tuple(line for line in self.lines if line.state is State.FAILED)

    @property
    def broken(self) -> int:
        """How many promises are broken: each job type counts once a line."""
        return sum(len(line.failures) for line in self.lines)
