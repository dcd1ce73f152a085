"""What contracts need from whoever runs the engine, as protocols that the runtime plugs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jobops.contracts.errors import NotInstalled
from jobops.contracts.job_type import OnUnknown
from jobops.engine.errors import EnqueueRefused
from jobops.engine.records import Enqueued, NewJob


class Enqueuer(Protocol):
    """Takes jobs in: straight into the engine, or with the transaction that is open."""

    def enqueue(self, job: NewJob, /) -> Enqueued:
        """Raises EnqueueRefused (UnknownTenant, IntakeClosed, DepthExceeded, …); nothing of the job is kept then."""
        ...

    def enqueue_many(self, jobs: Sequence[NewJob], /) -> Sequence[Enqueued | EnqueueRefused]:
        """One answer for each job, in order."""
        ...


class JobReading(Protocol):
    """What a handle reads of its job. ``result`` is JSON, empty or None where there is none; ``reason`` of a
    coalesced job is the id of the live one that it was coalesced into."""

    @property
    def state(self) -> str: ...
    @property
    def result(self) -> bytes | None: ...
    @property
    def error_class(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def attempts(self) -> int: ...
    @property
    def progress(self) -> tuple[int, int] | None: ...


class Lookup(Protocol):
    """Finds a job by id, wherever it is; None if nothing is kept of it."""

    def __call__(self, job_id: str, /) -> JobReading | None: ...


class Once(Protocol):
    """Runs something under a key of the current job: once, though the job may run twice."""

    def __call__(self, key: str, on_unknown: OnUnknown, call: Callable[[], Any], /) -> Any:
        """What ``call`` returns, now or in the run that did it; ``contracts.returned.NOT_KEPT`` if that is not kept.

        Raises what ``call`` raises, OnceBusy, OutcomeUnknown, LeaseLost, EffectNotRecorded, and what the database
        raises when it is away: nothing has been called then.
        """
        ...


_enqueuer: Enqueuer | None = None
_lookup: Lookup | None = None
_once: Once | None = None


def set_enqueuer(enqueuer: Enqueuer | None) -> None:
    """Enqueue through ``enqueuer`` in this process from now on."""
    global _enqueuer
    _enqueuer = enqueuer


def set_lookup(lookup: Lookup | None) -> None:
    """Read jobs through ``lookup`` in this process from now on."""
    global _lookup
    _lookup = lookup


def set_once(once: Once | None) -> None:
    """Guard effects through ``once`` in this process from now on."""
    global _once
    _once = once


def once() -> Once:
    """What guards effects. Raises NotInstalled when there is none."""
    if _once is None:
        raise NotInstalled("record of what was done once")
    return _once


def enqueuer() -> Enqueuer:
    """The enqueuer in use. Raises NotInstalled when there is none."""
    if _enqueuer is None:
        raise NotInstalled("enqueuer")
    return _enqueuer


def lookup() -> Lookup:
    """The lookup in use. Raises NotInstalled when there is none."""
    if _lookup is None:
        raise NotInstalled("lookup")
    return _lookup
