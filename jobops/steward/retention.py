"""Retention: what was drained long enough ago is purged, batch by batch."""

from __future__ import annotations

from dlq.purging import purge_due
from jobops.scheduling.duties import Context


def run(context: Context) -> int:
    """Purge one batch; answers how many letters went. Raises ``django.db.Error``: then none did."""
    return purge_due()
