"""What live traffic feels while a replay is about to run or runs: the wait in the first lane, sampled."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from dlq.models import BulkAction
from jobops.engine.queues import read_queues
from jobops.metrics.waits import keep_wait, longest_wait
from jobops.scheduling.duties import Context
from tenants.models import Tenant

AROUND = timedelta(minutes=5)
"""A draft this young may be confirmed soon: what was before its start is what the rest is held against. And what was
sent last goes on for a while."""

NEWEST = 50


def run(context: Context) -> int:
    """Keep one sample if anybody may want to see it; answers 0, as there is never more to do.

    Raises ``redis.RedisError`` and ``django.db.Error``.
    """
    if _is_wanted():
        engine = context.engine
        lane = next(iter(engine.lanes))
        paused = set(Tenant.objects.filter(paused=True).values_list("slug", flat=True))
        keep_wait(engine, lane, longest_wait(read_queues(engine), lane, paused))
    return 0


def _is_wanted() -> bool:
    replays = BulkAction.objects.filter(kind=BulkAction.Kind.REPLAY)
    if replays.filter(state__in=(BulkAction.State.RUNNING, BulkAction.State.PAUSED)).exists():
        return True
    since = timezone.now() - AROUND
    newest = replays.order_by("-pk").values_list("created_at", "ended_at")[:NEWEST]
    return any((ended or created) > since for created, ended in newest)
