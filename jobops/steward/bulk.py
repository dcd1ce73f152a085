"""Bulk actions that were confirmed: worked off in turns, so that a large one keeps no small one waiting."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from dlq.bulk_run import run_batch
from dlq.models import BulkAction
from jobops.scheduling.duties import Context

KEEP_DRAFTS = timedelta(days=1)
FORGOTTEN_AT_ONCE = 20


@dataclass(slots=True)
class BulkActions:
    """Remembers whose turn it was; a new one begins with the oldest, which is always right."""

    _last: int = 0

    def run(self, context: Context) -> int:
        """Deal with one batch of the next action that nobody else is at; answers how many letters it was about.

        Raises ``django.db.Error``.
        """
        running = BulkAction.objects.filter(state=BulkAction.State.RUNNING).order_by("pk")
        ids = list(running.values_list("pk", flat=True))
        for bulk_id in sorted(ids, key=lambda each: (each <= self._last, each)):
            if context.stopping():
                return 0
            self._last = bulk_id
            if done := run_batch(bulk_id):
                return done
        return 0


def forget_drafts(context: Context) -> int:
    """Delete drafts of over a day ago that nobody confirmed, or that were thrown away; answers how many."""
    never_ran = BulkAction.objects.filter(started_at__isnull=True, created_at__lt=timezone.now() - KEEP_DRAFTS)
    forgotten = 0
    for bulk_id in list(never_ran.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE]):
        with transaction.atomic():
            # Confirmed at this very moment, it stays.
            bulk = BulkAction.objects.select_for_update().filter(pk=bulk_id, started_at__isnull=True).first()
            if bulk is not None:
                bulk.delete()
                forgotten += 1
    return forgotten
