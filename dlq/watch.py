"""The watch over replays that nothing was heard of: each is found, or its letter opens again and says so."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dlq.endings import Ending, settle
from dlq.locking import lock_letters
from dlq.models import ReplayRun
from dlq.replay_push import UNSENT, push_again
from jobops.context import outbox_rows
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Fate

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=60)
LOOK_AGAIN_LATER = timedelta(minutes=10)
"""For replays that run for longer than that: a hundred thousand of them shall not keep the watch busy."""
SOON = timedelta(seconds=5)
"""For an end that Redis has and the duty for outcomes or deaths takes in at any moment."""
CHUNK = 1000

Run, Row = ReplayRun.State, OutboxEntry.State

NOWHERE = "its job is neither in the outbox nor in Redis"
IN_DOUBT = "nobody knows whether its job arrived in Redis"

_ENDS = {
    "succeeded": Run.SUCCEEDED,
    "discarded": Run.DISCARDED,
    "cancelled": Run.CANCELLED,
    "dead": Run.DIED,
}


def watch(engine: Engine, limit: int = 200) -> int:
    """Look for the jobs of at most ``limit`` replays whose time has come; answers how many were looked for.

    Raises ``redis.RedisError``, then nothing is concluded, and what the database raises.
    """
    now = timezone.now()
    # Those of other installations have a watch of their own.
    due = ReplayRun.objects.filter(state=Run.RUNNING, check_at__lte=now, letter__foreign__isnull=True)
    runs = list(due.order_by("check_at", "pk")[:limit])
    if not runs:
        return 0
    ids = [run.job_id for run in runs]
    # The outbox first: a row is deleted only after Redis has the job, so that one that moves between the two
    # looks is seen by the second.
    rows = {row.pk: row for row in OutboxEntry.objects.filter(pk__in=ids).defer("data")}
    fates = engine.scripts.fates(ids)
    unsent = [run for run in runs if _is_unsent(run, rows.get(run.job_id), fates[run.job_id], now)]
    impossible = push_again(unsent)
    endings = {run.pk: _verdict(run, rows.get(run.job_id), fates[run.job_id], now) for run in runs}
    for run in unsent:
        why = impossible.get(run.pk)
        endings[run.pk] = _concluded(run, Run.REFUSED, now, why) if why else None
    parked = {pk for pk, row in rows.items() if row.state == Row.PARKED}
    _conclude([(run, ending) for run in runs if (ending := endings[run.pk]) is not None], parked)
    pending = [run for run in runs if fates[run.job_id].pending]
    alive = [run for run in runs if endings[run.pk] is None and not fates[run.job_id].pending]
    _look_again(pending, now + SOON)
    _look_again([run for run in alive if now - run.started_at < LOOK_AGAIN_LATER], now + LOOK_AGAIN)
    _look_again([run for run in alive if now - run.started_at >= LOOK_AGAIN_LATER], now + LOOK_AGAIN_LATER)
    return len(runs)


def watch_all() -> int:
    """Have every replay looked for now: Redis is not the one that it was. Answers how many there are."""
    total, after = 0, 0
    while ids := list(_running().filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        total += _look_at(_running().filter(pk__in=ids), timezone.now())
        after = ids[-1]
    return total


def watch_soon(*job_ids: str) -> int:
    """Have these replays looked at in the next round, if they run: somebody has just cancelled their jobs."""
    return _look_at(_running().filter(job_id__in=job_ids), timezone.now())


def _is_unsent(run: ReplayRun, row: OutboxEntry | None, fate: Fate, now: datetime) -> bool:
    """Whether its sender was stopped before its job was in Redis, or could say so. Redis knows a pushed id for a day:
    until then a second push is a no-op; what is older is in doubt."""
    nowhere = row is None and fate.state == "missing" and not fate.pending
    return run.note == UNSENT and nowhere and now - run.started_at < outbox_rows.UNKNOWN_AFTER


def _verdict(run: ReplayRun, row: OutboxEntry | None, fate: Fate, now: datetime) -> Ending | None:
    """How the replay ended; None while it is on its way or its end is about to be taken in."""
    if fate.pending or fate.state == "alive":
        return None
    if fate.state != "missing":
        ended = _ENDS[fate.state]
        return Ending(run.job_id, ended, now, attempt=fate.attempt, error_class=fate.error_class, error=fate.error)
    if row is None:
        return _concluded(run, Run.LOST, now, IN_DOUBT if run.note == UNSENT else NOWHERE)
    match row.state:
        case Row.COALESCED:
            return Ending(run.job_id, Run.COALESCED, now, into=row.coalesced_into)
        case Row.CANCELLED:
            return Ending(run.job_id, Run.CANCELLED, now)
        case Row.PARKED if row.parked_as == OutboxEntry.Parked.REFUSED:
            return _concluded(run, Run.REFUSED, now, row.last_error)
        case Row.PARKED:
            return _concluded(run, Run.LOST, now, IN_DOUBT)
    return None


def _concluded(run: ReplayRun, state: ReplayRun.State, now: datetime, why: str) -> Ending:
    return Ending(run.job_id, state, now, error=why, by_watch=True)


def _conclude(ended: Sequence[tuple[ReplayRun, Ending]], parked: set[str]) -> None:
    """Open or resolve the letters. ``parked``: ids of the jobs whose row was parked when it was looked at. Such a row
    is cancelled with it: its job must not run when somebody lets it go after the letter was replayed again."""
    if not ended:
        return
    with transaction.atomic():
        # First, as everybody who holds a row of the outbox and a letter.
        lock_letters({run.letter_id for run, _ in ended})
        # One that was let go since may be in Redis by now, and its row gone: it is on its way again.
        gone_on = parked - _given_up(parked & {run.job_id for run, _ in ended})
        endings = [ending for run, ending in ended if not (ending.by_watch and run.job_id in gone_on)]
        for ending in endings:
            if ending.by_watch:
                log.warning("replay %s is over: %s", ending.job_id, ending.error)
        settle(endings)


def _given_up(parked: set[str]) -> set[str]:
    """Those of the rows that are parked still, and cancelled now."""
    if not parked:
        return set()
    rows = OutboxEntry.objects.filter(pk__in=parked, state=Row.PARKED)
    locked = list(rows.select_for_update().order_by("pk").values_list("pk", flat=True))
    outbox_rows.cancel(OutboxEntry.objects.filter(pk__in=locked, state=Row.PARKED))
    return set(OutboxEntry.objects.filter(pk__in=locked, state=Row.CANCELLED).values_list("pk", flat=True))


def _look_again(runs: Sequence[ReplayRun], at: datetime) -> None:
    # Who holds one of them at this moment ends it, or has it looked at sooner.
    if runs:
        _look_at(_running().filter(pk__in=[run.pk for run in runs]), at, skip_locked=True)


def _running() -> QuerySet[ReplayRun]:
    return ReplayRun.objects.filter(state=Run.RUNNING)


def _look_at(runs: QuerySet[ReplayRun], at: datetime, *, skip_locked: bool = False) -> int:
    """Have the watch look at these running replays at that instant; answers how many they are."""
    with transaction.atomic():
        # In one order, as everybody who takes many: or two might wait for each other.
        locked = runs.select_for_update(no_key=True, skip_locked=skip_locked).order_by("pk")
        return ReplayRun.objects.filter(pk__in=list(locked.values_list("pk", flat=True))).update(check_at=at)
