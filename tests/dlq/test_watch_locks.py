"""Who has replays looked at takes them in one order, so that no two wait for each other. (SQLite has one writer.)"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, transaction

from dlq.models import ReplayRun
from dlq.watch import watch, watch_all, watch_soon
from jobops.engine.client import Engine
from tests.dlq.replays import replaying
from tests.tools import wait_for

# SQLite locks the whole database instead of rows.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres_only]

# Not pg_stat_activity, which stays as it was first seen in a transaction.
_BLOCKED = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"


@pytest.fixture
def runs(both: Engine) -> list[ReplayRun]:
    """Two replays, the first one's row behind the second one's in the table and in the watch's index."""
    for _ in range(2):
        replaying(both)
    runs = list(ReplayRun.objects.order_by("pk"))
    runs[0].check_at += timedelta(hours=1)
    runs[0].save()
    return runs


def in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_BLOCKED)
        return cursor.fetchone() == (True,)


@pytest.mark.parametrize("which", ["all", "soon"])
def test_who_waits_for_one_of_them_holds_no_later_one(runs: list[ReplayRun], which: str) -> None:
    ids = [run.job_id for run in reversed(runs)]
    before = {run.pk: run.check_at for run in runs}
    with transaction.atomic():
        ReplayRun.objects.select_for_update().get(pk=runs[0].pk)
        thread = in_thread(watch_all if which == "all" else lambda: watch_soon(*ids))
        wait_for(blocked, what="the other one to wait")
        # Raises at once if the other one has it.
        ReplayRun.objects.select_for_update(nowait=True).get(pk=runs[1].pk)
    thread.join()
    assert all(run.check_at < before[run.pk] for run in ReplayRun.objects.all())


def test_the_watch_does_not_wait_to_look_again(both: Engine, runs: list[ReplayRun]) -> None:
    watch_all()
    with transaction.atomic():
        ReplayRun.objects.select_for_update().get(pk=runs[0].pk)
        thread = in_thread(lambda: watch(both))
        thread.join(timeout=10)
        assert not thread.is_alive()
    first, second = ReplayRun.objects.order_by("pk")
    assert first.check_at < second.check_at
