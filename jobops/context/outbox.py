"""Writing to the outbox: a job becomes a row in the transaction that asks for it, and nothing else.

A rollback, also of a savepoint, takes the row away. On commit the same process pushes it; if it cannot
(killed, Redis away), the relay of the scheduler does (``jobops.context.relay``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import cast

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count, Min, Q
from django.utils import timezone

from jobops.context.models import OutboxEntry
from jobops.engine.records import Enqueued, NewJob, OnFull

log = logging.getLogger("jobops.outbox")

RELAY_AFTER = timedelta(seconds=2)
"""How long the relay leaves a new row to the process that committed it."""

WRITE_BATCH = 500

Push = Callable[[Sequence[str]], object]
"""Pushes the rows of these ids, which are committed."""


def in_transaction() -> bool:
    """Whether what is written to the default database now can still be rolled back."""
    connection = transaction.get_connection(DEFAULT_DB_ALIAS)
    if connection.in_atomic_block or connection.connection is None:
        # Not by get_autocommit(), which would connect: an enqueue outside needs no database.
        return connection.in_atomic_block or not connection.settings_dict["AUTOCOMMIT"]
    return not connection.autocommit


def write(jobs: Sequence[NewJob], *, tried: bool = False, error: str = "") -> list[Enqueued]:
    """Save the jobs as outbox rows; an id that is there already is left as it is (one id is pushed once).

    ``tried``: a push of them has been begun and nobody knows how it ended; ``error`` says why.
    Raises ``django.db.Error``.
    """
    now = timezone.now()
    # A microsecond apart, so that they are pushed in the order in which they were asked for.
    rows = [_row(job, now + timedelta(microseconds=place), tried, error) for place, job in enumerate(jobs)]
    OutboxEntry.objects.using(DEFAULT_DB_ALIAS).bulk_create(rows, batch_size=WRITE_BATCH, ignore_conflicts=True)
    return [Enqueued(id=job.id, state="outbox") for job in jobs]


def write_and_push_on_commit(jobs: Sequence[NewJob], push: Push) -> list[Enqueued]:
    """Save the jobs in the transaction that is open and push them right after its commit.

    Under manual transaction management (autocommit off) Django offers no hook: the relay pushes them then.
    """
    written = write(jobs)
    connection = transaction.get_connection(DEFAULT_DB_ALIAS)
    if connection.in_atomic_block:
        pending = _pending_of_this_transaction() or _Pending()
        pending.ids.extend(job.id for job in jobs)
        transaction.on_commit(_PushAfterCommit(pending, push), using=DEFAULT_DB_ALIAS, robust=True)
    return written


def look_before_push(look: Callable[[], object]) -> None:
    """Have ``look`` called when the rows that were written last are committed and not pushed yet.

    It is not called after a rollback, nor where the relay pushes them as the commit's hooks did not run.
    """
    pending = _pending_of_this_transaction()
    if pending is not None and look not in pending.looks:
        pending.looks.append(look)


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is in the outbox: rows on their way, seconds since the oldest of them was written, rows parked."""

    waiting: int
    oldest_age_s: float | None
    parked: int


def backlog() -> Backlog:
    """What is in the outbox now, in one query. Healthy is empty, or an age of a second or two."""
    waiting, parked = (Q(state=state) for state in (OutboxEntry.State.WAITING, OutboxEntry.State.PARKED))
    found = OutboxEntry.objects.using(DEFAULT_DB_ALIAS).aggregate(
        waiting=Count("pk", filter=waiting), oldest=Min("created_at", filter=waiting), parked=Count("pk", filter=parked)
    )
    oldest = found["oldest"]
    age = max(0.0, (timezone.now() - oldest).total_seconds()) if oldest else None
    return Backlog(found["waiting"], age, found["parked"])


def job_of(row: OutboxEntry) -> NewJob:
    """The job that the row carries."""
    return NewJob(
        id=row.id,
        tenant=row.tenant,
        lane=row.lane,
        job_type=row.job_type,
        data=bytes(row.data),
        max_attempts=row.max_attempts,
        timeout_ms=row.timeout_ms,
        lease_ms=row.lease_ms,
        key=row.key,
        correlation_id=row.correlation_id,
        due_at_ms=row.due_at_ms,
        front=row.front,
        result_ttl_s=row.result_ttl_s,
        replay_of=row.replay_of,
        tenant_uid=row.tenant_uid,
        resource=row.resource,
        dedup_ms=row.dedup_ms,
        on_full=cast(OnFull, row.on_full),
        keep=row.keep,
        batch=row.batch,
        checkpoint=bytes(row.checkpoint or b""),
    )


@dataclass(slots=True)
class _Pending:
    """What the commit of one transaction has to push, and who looks at it before."""

    ids: list[str] = field(default_factory=list)
    looks: list[Callable[[], object]] = field(default_factory=list)


class _PushAfterCommit:
    """The commit hook. All hooks of one transaction share ``pending``: the first pushes everything in one go.

    Each enqueue needs a hook of its own, as Django drops those of a savepoint that is rolled back. Ids of such a
    savepoint stay in the list and do no harm: they have no row.
    """

    def __init__(self, pending: _Pending, push: Push) -> None:
        self.pending = pending
        self.push = push

    def __call__(self) -> None:
        ids, looks = self.pending.ids[:], self.pending.looks[:]
        self.pending.ids.clear()
        self.pending.looks.clear()
        if not ids:
            return
        for look in looks:
            try:
                look()
            except Exception:
                log.exception("what was to look at %d committed job(s) failed", len(ids))
        try:
            self.push(ids)
        except Exception as error:  # noqa: BLE001  (the caller has committed: whatever it is, the relay has the rows)
            log.warning("%d job(s) stay in the outbox for the relay: %s: %s", len(ids), type(error).__name__, error)


def _pending_of_this_transaction() -> _Pending | None:
    hooks = transaction.get_connection(DEFAULT_DB_ALIAS).run_on_commit
    for _savepoints, hook, *_robust in reversed(hooks[-50:]):
        if isinstance(hook, _PushAfterCommit):
            return hook.pending
    return None


def _row(job: NewJob, now: datetime, tried: bool, error: str) -> OutboxEntry:
    # A delay counts from the enqueue, not from the push: the row carries the instant.
    due_at_ms = job.due_at_ms or (int(now.timestamp() * 1000) + job.delay_ms if job.delay_ms else 0)
    return OutboxEntry(
        id=job.id,
        tenant=job.tenant,
        lane=job.lane,
        job_type=job.job_type,
        data=job.data,
        max_attempts=job.max_attempts,
        timeout_ms=job.timeout_ms,
        lease_ms=job.lease_ms,
        key=job.key,
        correlation_id=job.correlation_id,
        due_at_ms=due_at_ms,
        front=job.front,
        result_ttl_s=job.result_ttl_s,
        replay_of=job.replay_of,
        tenant_uid=job.tenant_uid,
        resource=job.resource,
        dedup_ms=job.dedup_ms,
        on_full=job.on_full,
        keep=job.keep,
        batch=job.batch,
        checkpoint=job.checkpoint or None,
        created_at=now,
        first_pushed_at=now if tried else None,
        next_try_at=now + RELAY_AFTER,
        last_error=error.replace("\0", "\\0"),
    )
