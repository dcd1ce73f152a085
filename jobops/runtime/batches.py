"""Where batches are kept: the row in the database, in the transaction that is open; the members in Redis."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection

from django.db import DEFAULT_DB_ALIAS, transaction
from redis.exceptions import RedisError

from jobops.audit import recording
from jobops.batches.changing import batch_close, batch_open, batch_to_cancelled, cancelling
from jobops.batches.joined import Joined
from jobops.batches.members import cancel_rows, cancel_waiting
from jobops.batches.models import Batch
from jobops.batches.verdict import status_of
from jobops.contracts.batch_port import BatchStatus, NewBatch
from jobops.engine.batch_commands import BatchCounts
from jobops.engine.errors import UnknownTenant
from jobops.runtime.engine import get_engine
from tenants.access import AnyUser
from tenants.models import Tenant
from tenants.policy import belongs

log = logging.getLogger("jobops.runtime")

AT_ONCE = 1000
"""Waiting members that are cancelled by whoever cancels the batch; the scheduler does the others."""


class DatabaseBatches:
    """The ``BatchStore`` of the contracts."""

    def open(self, batch: NewBatch, /) -> DatabaseFilling:
        """Keep a batch that is being filled. Raises ``UnknownTenant`` and ``django.db.Error``."""
        tenant = Tenant.objects.filter(slug=batch.tenant).first()
        if tenant is None or not belongs(batch.tenant_uid, tenant):
            raise UnknownTenant(batch.tenant)
        return DatabaseFilling(batch_open(batch, str(tenant.pk)))

    def status(self, batch_id: str, /) -> BatchStatus | None:
        """How it stands now, as far as it is known while Redis is away."""
        batch = Batch.objects.filter(pk=batch_id).first()
        return status_of(batch, counts_of(batch)) if batch is not None else None


class DatabaseFilling(Joined):
    """The ``Filling`` of the contracts."""

    def close(self) -> bool:
        """It has all its members. False when it was cancelled meanwhile, or nothing is kept of it."""
        batch_id = self._batch.pk
        closed = batch_close(batch_id, self.total(_came))
        _after_commit(lambda: _touch(batch_id))
        return closed

    def abort(self) -> None:
        """Cancel it, as its filling failed; in a transaction that can only be rolled back there is nothing to do."""
        if transaction.get_connection(DEFAULT_DB_ALIAS).needs_rollback:
            return
        with transaction.atomic():
            batch = batch_to_cancelled(self._batch.pk, self.total(_came))
            if batch is not None:
                recording.record("batch", cancelling(batch, "an exception ended its filling"))
                _cancel_members(batch)


def batch_cancel(*, batch_id: str, by: AnyUser | str, reason: str = "") -> Batch | None:
    """Cancel a batch: its ``then`` will not run, and those of its members that wait will not; what runs ends by itself.

    Answers the batch, or None when it is over already, or there is none. Callers have asked ``access.can`` before.
    """
    with transaction.atomic():
        batch = batch_to_cancelled(batch_id)
        if batch is None:
            return None
        recording.record(by, cancelling(batch, reason))
        _cancel_members(batch)
    return batch


def counts_of(batch: Batch) -> BatchCounts | None:
    """What Redis tells of it; None while it is away, and of a batch that it was told to forget."""
    if batch.ended_at is not None:
        return None
    try:
        return get_engine().scripts.batch_state(batch.pk)
    except RedisError as error:
        log.warning("how batch %s stands is not known just now: %s", batch.pk, type(error).__name__)
        return None


def _cancel_members(batch: Batch) -> None:
    cancel_rows(batch)

    def in_redis() -> None:
        # Two steps: members that come in between are found by the scheduler, which the touch calls.
        _touch(batch.pk)
        try:
            cancel_waiting(get_engine(), batch, limit=AT_ONCE)
        except RedisError as error:
            log.warning("members of batch %s are left for the scheduler: %s", batch.pk, type(error).__name__)

    _after_commit(in_redis)


def _came(ids: Collection[str]) -> Collection[str]:
    """Those that Redis took in. While it is away none: as soon as it is there again, it counts them itself."""
    try:
        return get_engine().scripts.came(list(ids))
    except RedisError as error:
        log.warning("whether %d member(s) came to Redis is not known just now: %s", len(ids), type(error).__name__)
        return ()


def _touch(batch_id: str) -> None:
    """Have the scheduler look at it at once; it would by itself, within a minute or two."""
    try:
        get_engine().scripts.batch_touch(batch_id)
    except RedisError as error:
        log.warning("batch %s waits for the scheduler's next look: %s", batch_id, type(error).__name__)


def _after_commit(act: Callable[[], None]) -> None:
    connection = transaction.get_connection(DEFAULT_DB_ALIAS)
    if connection.in_atomic_block:
        transaction.on_commit(act, using=DEFAULT_DB_ALIAS, robust=True)
    else:
        act()
