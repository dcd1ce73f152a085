"""Replays at a source that the watch does not know, as its process has other settings than the one that sent them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, QuerySet

from dlq.models import ReplayRun

UNWATCHED = "nobody looks after it: the scheduler does not know its source"
"""The note of a run that was pushed, as long as the watch does not know its source."""


def unwatched(runs: QuerySet[ReplayRun]) -> Mapping[str, int]:
    """Source → how many of these runs nobody looks after; one query."""
    found: QuerySet[Any, Any] = runs.filter(state=ReplayRun.State.RUNNING, note=UNWATCHED).order_by()
    rows = found.values_list("letter__foreign__source").annotate(n=Count("pk")).order_by("letter__foreign__source")
    return dict(rows)
