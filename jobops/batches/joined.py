"""Who has joined a batch while it is filled: a transaction or savepoint that is rolled back takes its members along."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence

from jobops.batches.members import rows_of
from jobops.batches.models import Batch
from jobops.context import outbox
from jobops.contracts.handles import Handle

log = logging.getLogger("jobops.batches")

Came = Callable[[Collection[str]], Collection[str]]
"""Those of these jobs that have come to Redis."""


class Joined:
    """Counts the members of one batch. Also for threads that fill it together, each in transactions of its own.

    What goes straight to Redis, or into the outbox without a transaction, stays. What is written to the outbox in one
    is a member once its row is seen after the commit, before it is pushed and deleted: nothing but the row tells of a
    savepoint that was rolled back by hand. Where nobody looked, as an earlier hook of the commit raised, the row is
    found at the end; or the relay has pushed it, and Redis knows the job.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._within = outbox.in_transaction()
        self._lock = threading.Lock()
        self._straight = 0
        self._stayed: set[str] = set()
        self._open: set[str] = set()
        self._is_closed = False

    def joined(self, handles: Sequence[Handle]) -> None:
        """These were enqueued, in the transaction that is open now, if one is."""
        kept = {handle.id for handle in handles if handle.state == "outbox"}
        may_go = outbox.in_transaction()
        with self._lock:
            self._straight += sum(handle.state != "outbox" for handle in handles)
            (self._open if may_go else self._stayed).update(kept)
        if may_go:
            outbox.look_before_push(self._committed)

    def total(self, came: Came) -> int:
        """How many there are, now that the filling ends. Raises ``django.db.Error``."""
        self._is_closed = True
        self._look()
        # One of a batch that began in this very transaction has surely not been pushed.
        if self._open and not self._within:
            self._stayed.update(came(self._open))
        gone = len(self._open - self._stayed)
        if gone:
            log.info("batch %s: %d member(s) were rolled back", self._batch.pk, gone)
        return self._straight + len(self._stayed)

    def _committed(self) -> None:
        if not self._is_closed:
            self._look()

    def _look(self) -> None:
        # All of the batch, also what nobody has a handle on as its enqueue failed after the write: it will run.
        found = set(rows_of(self._batch).values_list("pk", flat=True))
        with self._lock:
            self._stayed |= found
            self._open -= found
