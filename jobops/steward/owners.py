"""Owners and clocks of many letters that change: what a person or new rules began goes on batch by batch."""

from __future__ import annotations

from dlq.owners.spreading import run_changes
from jobops.scheduling.duties import Context


def run(context: Context) -> int:
    """Change one batch of what goes on; answers how many letters it looked at. Raises ``django.db.Error``."""
    return run_changes()
