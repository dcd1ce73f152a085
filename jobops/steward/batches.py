"""Batches: takes down how they stand, moves them on, and looks for members that nothing was heard of."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from redis.exceptions import ResponseError

from jobops.audit import recording
from jobops.batches.changing import OVER, batch_cleared, batch_note, batch_to_cancelled, cancelling
from jobops.batches.members import OnTheWay, cancel_rows, cancel_waiting, on_the_way, rows_of
from jobops.batches.models import Batch
from jobops.engine.batch_commands import BatchCounts
from jobops.engine.errors import EngineError
from jobops.engine.link import is_away
from jobops.runtime.enqueuer import enqueuer
from jobops.scheduling.duties import Context
from jobops.steward.batch_members import tell_of_members, tell_withdrawn

log = logging.getLogger("jobops.steward")

State = Batch.State

QUIET = timedelta(seconds=60)
"""One that has not changed for so long is looked through."""
FILLING_FOR = timedelta(hours=1)
"""One that is being filled and gets no member for so long was left by whoever filled it."""
KEEP = timedelta(days=30)
"""How long batches that are over are kept."""
CUT_OFF = "its filling was cut off"


@dataclass(slots=True)
class BatchCounting:
    """Keeps its place in large batches that are being cancelled."""

    limit: int = 100
    _cursors: dict[str, int] = field(default_factory=dict)

    def run(self, context: Context) -> int:
        """Take down how those stand that have changed; answers how many that were. Raises ``redis.RedisError``."""
        scripts = context.engine.scripts
        ids = scripts.batches_changed(self.limit)
        rows = Batch.objects.in_bulk(ids) if ids else {}
        for batch_id, counts in zip(ids, scripts.batch_states(ids), strict=True):
            if isinstance(counts, Exception):
                _pass_over(context, batch_id, counts)
            elif batch_id not in rows:
                scripts.batch_forget(batch_id)  # rolled back, or over for so long that its row is deleted
            else:
                self._take_down(context, rows[batch_id], counts)
        return len(ids)

    def _take_down(self, context: Context, batch: Batch, counts: BatchCounts) -> None:
        scripts = context.engine.scripts
        noted = note(batch, counts)
        if noted is None or noted.ended_at is not None:
            scripts.batch_forget(batch.pk)
            return
        if noted.state == State.CANCELLED:
            if self._cancel(context, noted):
                return
            if _is_cleared(noted, counts):
                batch_cleared(batch.pk)
                return
        if counts.changed_us is not None:
            scripts.batch_ack(batch.pk, counts.changed_us)

    def _cancel(self, context: Context, batch: Batch) -> bool:
        """Cancel a portion of its waiting members; answers whether this goes on."""
        rows = cancel_rows(batch) + tell_withdrawn(context.engine, batch)
        cursor, cancelled = cancel_waiting(context.engine, batch, self._cursors.pop(batch.pk, 0))
        if cursor:
            self._cursors[batch.pk] = cursor
        return bool(cursor or cancelled or rows)


@dataclass(slots=True)
class BatchWatch:
    """Looks through quiet batches, each once a minute. Keeps its place in large ones."""

    limit: int = 20
    _cursors: dict[str, int] = field(default_factory=dict)

    def run(self, context: Context) -> int:
        """Look at those whose time has come; answers how many. Raises ``redis.RedisError``."""
        quiet = Q(counted_at__lt=timezone.now() - QUIET)
        left_behind = Q(state=State.FILLING, counted_at__lt=timezone.now() - FILLING_FOR)
        waited_for = Q(state__in=(State.RUNNING, State.STUCK)) | Q(state=State.CANCELLED, ended_at=None)
        found = list(Batch.objects.filter((waited_for & quiet) | left_behind).order_by("counted_at")[: self.limit])
        for batch in found:
            if context.stopping():
                break
            if batch.state == State.FILLING:
                _abandon(context, batch)
            else:
                self._look(context, batch)
        return len(found)

    def _look(self, context: Context, batch: Batch) -> None:
        scripts = context.engine.scripts
        if batch.state == State.CANCELLED:
            cancel_rows(batch)
        # The outbox first: a member that moves to Redis between the two looks is seen twice, and not missed.
        way = on_the_way(batch)
        try:
            cursor = tell_of_members(context.engine, batch, self._cursors.pop(batch.pk, 0))
            counts = scripts.batch_state(batch.pk)
        except (ResponseError, EngineError) as error:
            _pass_over(context, batch.pk, error)
            return
        if cursor:
            self._cursors[batch.pk] = cursor
        missing = max(0, batch.total - counts.known - way.waiting - way.parked)
        if missing and batch.state != State.CANCELLED:
            log.error("batch %s: nothing is known of %d of its %d members", batch.pk, missing, batch.total)
        noted = note(batch, counts, parked=way.parked, missing=missing)
        if noted is not None and noted.state == State.CANCELLED:
            scripts.batch_touch(batch.pk)
        elif noted is not None and noted.state in OVER:
            scripts.batch_forget(batch.pk)


def note(batch: Batch, counts: BatchCounts, *, parked: int = 0, missing: int = 0) -> Batch | None:
    """Take down how it stands. One that only parked members hold up is asked for them again."""
    if batch.state == State.STUCK and not counts.dead and not parked:
        parked = on_the_way(batch).parked
    return batch_note(batch.pk, counts, enqueuer().push, parked=parked, missing=missing)


def _is_cleared(batch: Batch, counts: BatchCounts) -> bool:
    return counts.left == 0 and on_the_way(batch) == OnTheWay()


def forget(context: Context, limit: int = 1000) -> int:
    """Delete batches that are over for long; answers how many."""
    old = Batch.objects.filter(created_at__lt=timezone.now() - KEEP, ended_at__lt=timezone.now() - KEEP)
    ids: Sequence[str] = list(old.order_by("created_at").values_list("pk", flat=True)[:limit])
    return Batch.objects.filter(pk__in=ids).delete()[0] if ids else 0


def _abandon(context: Context, batch: Batch) -> None:
    if rows_of(batch).filter(created_at__gt=timezone.now() - FILLING_FOR).exists():
        Batch.objects.filter(pk=batch.pk).update(counted_at=timezone.now())
        return
    cancelled = batch_to_cancelled(batch.pk)
    if cancelled is None:
        return
    log.warning("batch %s of %s is cancelled: %s", batch.pk, batch.tenant, CUT_OFF)
    recording.record("scheduler", cancelling(cancelled, CUT_OFF))
    context.engine.scripts.batch_touch(batch.pk)


def _pass_over(context: Context, batch_id: str, error: Exception) -> None:
    """What is wrong with the keys of one batch must not hold up the others. It comes up again when it changes."""
    if is_away(error):
        raise error
    log.error("batch %s cannot be counted: %s: %s", batch_id, type(error).__name__, error)
    context.engine.redis.zrem(context.engine.keys.batches(), batch_id)
    Batch.objects.filter(pk=batch_id).update(counted_at=timezone.now())
