"""What a batch needs from whoever keeps it, as a protocol that the runtime plugs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from jobops.contracts.errors import NotInstalled
from jobops.contracts.handles import Handle
from jobops.engine.errors import EngineError
from jobops.engine.records import NewJob

BatchState = Literal["filling", "running", "stuck", "succeeded", "ended", "cancelled", "lost"]


class BatchCancelled(EngineError):
    """Somebody cancelled the batch while it was being filled, and with it those of its members that did not run."""

    def __init__(self, batch_id: str) -> None:
        super().__init__(f"batch {batch_id} was cancelled while it was being filled, with its members that did not run")
        self.batch_id = batch_id


class BatchGone(EngineError):
    """Nothing is kept of this batch: it is over for long, was rolled back, or never existed."""

    def __init__(self, batch_id: str) -> None:
        super().__init__(f"batch {batch_id}: nothing is kept of it any more, or it never existed")
        self.batch_id = batch_id


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch as it is opened. ``then``: the job to enqueue when every member is over well, as it would be enqueued
    now."""

    id: str
    tenant: str
    name: str
    correlation_id: str
    tenant_uid: str = ""
    then: NewJob | None = None


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """How a batch stands.

    ``state``: ``filling``; ``running``; ``stuck`` (members are dead, or parked on their way: a person decides);
    ``succeeded`` (every member succeeded, ended by its contract or was taken into another job with its key; then
    ``then_job_id`` is enqueued, if there is a ``then``); ``ended`` (all are over, and not all of them well);
    ``cancelled``; ``lost`` (Redis was flushed or restored, and nobody knows what became of some members).

    ``left``: members that wait or run; ``dead``: those that gave up, also when their letter was discarded by a person;
    ``coalesced``: taken into another job with the same key, which is alive or within its dedup window; ``lost``: of
    which nothing is known any more. While it is being filled, ``total`` is 0.
    """

    state: BatchState
    total: int = 0
    left: int = 0
    succeeded: int = 0
    discarded: int = 0
    cancelled: int = 0
    coalesced: int = 0
    dead: int = 0
    lost: int = 0
    then_job_id: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in ("succeeded", "ended", "cancelled", "lost")


class Filling(Protocol):
    """A batch that is being filled. A member that is rolled back with its transaction or savepoint is none."""

    def joined(self, members: Sequence[Handle], /) -> None:
        """These were enqueued, in the transaction that is open now, if one is."""
        ...

    def close(self) -> bool:
        """It has all its members: from now on it can end. False: it was cancelled meanwhile, or is gone."""
        ...

    def abort(self) -> None:
        """Cancel it, as its filling failed, and those of its members that do not run."""
        ...


class BatchStore(Protocol):
    """Keeps batches."""

    def open(self, batch: NewBatch, /) -> Filling:
        """Keep it, in state filling, in the transaction that is open. Raises UnknownTenant."""
        ...

    def status(self, batch_id: str, /) -> BatchStatus | None:
        """How it stands, or None when nothing is kept of it."""
        ...


_store: BatchStore | None = None


def set_batches(store: BatchStore | None) -> None:
    """Keep batches there in this process from now on."""
    global _store
    _store = store


def batches() -> BatchStore:
    """Where batches are kept. Raises NotInstalled when that is nowhere."""
    if _store is None:
        raise NotInstalled("store of batches")
    return _store
