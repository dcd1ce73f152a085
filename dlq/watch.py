"""The watch over replays that nothing was heard of: each is found, or its letter opens again and says so."""

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from dlq.endings import Ending, settle
from dlq.models import ReplayRun
from jobops.context import relay
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Fate

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=60)
LOOK_AGAIN_LATER = timedelta(minutes=10)
"""For replays that run for longer than that: a hundred thousand of them shall not keep the watch busy."""
SOON = timedelta(seconds=5)
"""For an end that Redis has and the duty for outcomes or deaths takes in at any moment."""

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
    runs = list(ReplayRun.objects.filter(state=Run.RUNNING, check_at__lte=now).order_by("check_at", "pk")[:limit])
    if not runs:
        return 0
    ids = [run.job_id for run in runs]
    # The outbox first: a row is deleted only after Redis has the job, so that one that moves between the two
    # looks is seen by the second.
    rows = {row.pk: row for row in OutboxEntry.objects.filter(pk__in=ids).defer("data")}
    fates = engine.scripts.fates(ids)
    endings = {run.pk: _verdict(run, rows.get(run.job_id), fates[run.job_id], now) for run in runs}
    _conclude([ending for ending in endings.values() if ending is not None], rows.values())
    pending = [run for run in runs if fates[run.job_id].pending]
    alive = [run for run in runs if endings[run.pk] is None and not fates[run.job_id].pending]
    _look_again(pending, now + SOON)
    _look_again([run for run in alive if now - run.started_at < LOOK_AGAIN_LATER], now + LOOK_AGAIN)
    _look_again([run for run in alive if now - run.started_at >= LOOK_AGAIN_LATER], now + LOOK_AGAIN_LATER)
    return len(runs)


def watch_all() -> int:
    """Have every replay looked for now: Redis is not the one that it was. Answers how many there are."""
    return ReplayRun.objects.filter(state=Run.RUNNING).update(check_at=timezone.now())


def watch_soon(job_id: str) -> int:
    """Have this replay looked at in the next round, if it runs: somebody has just cancelled its job."""
    return ReplayRun.objects.filter(job_id=job_id, state=Run.RUNNING).update(check_at=timezone.now())


def _verdict(run: ReplayRun, row: OutboxEntry | None, fate: Fate, now: datetime) -> Ending | None:
    """How the replay ended; None while it is on its way or its end is about to be taken in."""
    if fate.pending or fate.state == "alive":
        return None
    if fate.state != "missing":
        ended = _ENDS[fate.state]
        return Ending(run.job_id, ended, now, attempt=fate.attempt, error_class=fate.error_class, error=fate.error)
    if row is None:
        return _concluded(run, Run.LOST, now, NOWHERE)
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


def _conclude(endings: Sequence[Ending], rows: Iterable[OutboxEntry]) -> None:
    """Open or resolve the letters. A parked row is cancelled with it: its job must not run when somebody lets it go
    after the letter was replayed again."""
    if not endings:
        return
    parked = [row.pk for row in rows if row.state == Row.PARKED]
    with transaction.atomic():
        ended = {ending.job_id for ending in endings}
        mine = OutboxEntry.objects.filter(pk__in=[pk for pk in parked if pk in ended])
        if parked:
            relay.cancel(mine.filter(state=Row.PARKED))
        # One that was let go in this very moment is on its way again.
        gone_on = set(mine.exclude(state=Row.CANCELLED).values_list("pk", flat=True)) if parked else set()
        for ending in endings:
            if ending.by_watch and ending.job_id not in gone_on:
                log.warning("replay %s is over: %s", ending.job_id, ending.error)
        settle([ending for ending in endings if ending.job_id not in gone_on])


def _look_again(runs: Sequence[ReplayRun], at: datetime) -> None:
    if runs:
        ReplayRun.objects.filter(pk__in=[run.pk for run in runs], state=Run.RUNNING).update(check_at=at)
