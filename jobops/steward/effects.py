"""What was done once, long ago: forgotten, so that the table stays as large as a few weeks of work."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from jobops.context import once_records
from jobops.scheduling.duties import Context

BATCH = 1_000


def forget(context: Context) -> int:
    """Delete a batch of records older than ``JOBOPS_ONCE_KEEP_DAYS`` (0: none ever); answers how many went.

    Raises ``django.db.Error``.
    """
    days = settings.JOBOPS_ONCE_KEEP_DAYS
    return once_records.forget(timedelta(days=days), BATCH) if days else 0
