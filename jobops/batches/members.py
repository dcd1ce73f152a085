"""The members of a batch, on their way in the outbox or in Redis: finding and cancelling them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from jobops.batches.models import Batch
from jobops.context import outbox_rows
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine

Row = OutboxEntry.State


@dataclass(frozen=True, slots=True)
class OnTheWay:
    """Members in the outbox: ``waiting`` to be pushed, ``parked`` until a person decides."""

    waiting: int = 0
    parked: int = 0


def rows_of(batch: Batch) -> QuerySet[OutboxEntry]:
    """Its members in the outbox, without replays: those stand for members that came to Redis long ago."""
    # The table is indexed by tenant and time.
    rows = OutboxEntry.objects.filter(tenant=batch.tenant, created_at__gte=batch.created_at)
    return rows.filter(batch=batch.pk, replay_of="")


def on_the_way(batch: Batch) -> OnTheWay:
    """How many of its members are in the outbox."""
    found = rows_of(batch).aggregate(
        waiting=Count("pk", filter=Q(state=Row.WAITING)), parked=Count("pk", filter=Q(state=Row.PARKED))
    )
    return OnTheWay(found["waiting"], found["parked"])


def cancel_rows(batch: Batch) -> int:
    """Cancel its members that are not pushed at this moment; answers how many."""
    return outbox_rows.cancel(rows_of(batch))


def cancel_waiting(engine: Engine, batch: Batch, cursor: int = 0, limit: int = 1000) -> tuple[int, int]:
    """Cancel about ``limit`` of its members that wait in Redis; answers where to go on (0: that was all) and how many.

    What runs is left to end. Raises ``redis.RedisError``.
    """
    scripts, cancelled, seen = engine.scripts, 0, 0
    while True:
        cursor, members = scripts.batch_members(batch.pk, "left", cursor)
        if members:
            cancelled += scripts.cancel_many(members, batch.tenant)
        seen += len(members)
        if cursor == 0 or seen >= limit:
            return cursor, cancelled
