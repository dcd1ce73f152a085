"""The watch over replays at their sources: finished there, the letter is resolved; failed again, it opens again.

A source is only believed while it answers. One that hangs holds up nobody else: this runs in a thread of its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from redis.exceptions import RedisError

from dlq.endings import Ending, settle
from dlq.foreign.homes import why_unknown
from dlq.foreign.records import Record, instant, record_of
from dlq.foreign.retelling import retell
from dlq.foreign.scripts import Commands, Look
from dlq.foreign.sending import push_runs
from dlq.foreign.sources import Source, SourceError, sources
from dlq.foreign.unwatched import UNWATCHED
from dlq.inserting import AWAY, UNSTORABLE
from dlq.models import ForeignJob, ReplayRun
from dlq.replay_push import UNSENT

log = logging.getLogger(__name__)

BATCH = 200
LOOK_AGAIN = timedelta(seconds=2)
LOOK_AGAIN_LATER = timedelta(seconds=30)
"""For replays that run for longer than a few minutes."""
LONG = timedelta(minutes=5)
GIVE_UP_AFTER = timedelta(days=1)
"""A source forgets a push after some days: until then, a second one is a no-op. Nothing is pushed later than this."""
MOST_PAUSE_S = 30.0

Run = ReplayRun.State

GONE = "its job is gone at its source"
NEVER_ARRIVED = "its source did not take it for a day"
TOO_LARGE = "it failed again there, and its record is too large to be read"
SILENT = "its source did not answer for a day"
ENDS = {"finished": Run.SUCCEEDED, "canceled": Run.CANCELLED}
DIED = ("failed", "stopped")


class Watch:
    """Looks at replays whose time has come. Remembers which sources do not answer, and lets them be for a while."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pauses: dict[str, float] = {}
        self._next: dict[str, float] = {}

    def run(self) -> int:
        """One round; answers how many replays were looked at. Raises what the database raises."""
        done = 0
        due = _running().filter(check_at__lte=timezone.now())
        for name in sorted(set(due.order_by().values_list("letter__foreign__source", flat=True))):
            if self._clock() >= self._next.get(name, 0.0):
                runs = list(
                    due.filter(letter__foreign__source=name)
                    .select_related("letter__foreign")
                    .order_by("check_at")[:BATCH]
                )
                done += self._look_at(name, runs)
        return done

    def _look_at(self, name: str, runs: Sequence[ReplayRun]) -> int:
        source = sources().get(name)
        if source is None:
            _give_up(runs, LONG, why_unknown(name))
            _note([run for run in runs if run.note != UNSENT], UNWATCHED)
            return 0
        _note([run for run in runs if run.note == UNWATCHED], "")
        try:
            with source.connect() as client:
                done = look_at(Commands(client, source.prefix), source, runs)
        except (RedisError, SourceError) as error:
            self._let_be(source, error)
            _give_up(runs, GIVE_UP_AFTER, SILENT)
            return 0
        if self._pauses.pop(name, None):
            log.info("source %s answers again", name)
        return done

    def _let_be(self, source: Source, error: Exception) -> None:
        pause = self._pauses.get(source.name, 0.0)
        if not pause:
            log.warning("%s", source.silent(error) if isinstance(error, RedisError) else error)
        self._pauses[source.name] = pause = min(MOST_PAUSE_S, pause * 2 or 1.0)
        self._next[source.name] = self._clock() + pause


def look_at(commands: Commands, source: Source, runs: Sequence[ReplayRun]) -> int:
    """Push what was not pushed, and end what has ended; answers how many were looked at.

    Raises ``redis.RedisError``, then the rest is looked at in another round, and what the database raises.
    """
    looks = [(run, commands.look(run.job_id, run.letter.foreign.rq_id)) for run in runs]
    now = timezone.now()
    unsent = [run for run, look in looks if not look.mark and run.note == UNSENT]
    old = [run for run in unsent if now - run.started_at >= GIVE_UP_AFTER]
    push_runs(commands, [run for run in unsent if run not in old])
    _conclude(old, NEVER_ARRIVED)
    rest = [(run, look) for run, look in looks if run not in unsent]
    ended = [(run, look) for run, look in rest if _ending(run, look) is not None]
    settle([ending for run, look in ended if (ending := _ending(run, look)) is not None])
    died = [run for run, look in rest if look.status in DIED and look.mark and _retell(commands, source, run, look)]
    over = {run.pk for run, _ in ended} | {run.pk for run in died}
    alive = [run for run, _ in rest if run.pk not in over]
    _look_again([run for run in alive if now - run.started_at < LONG], now + LOOK_AGAIN)
    _look_again([run for run in alive if now - run.started_at >= LONG], now + LOOK_AGAIN_LATER)
    return len(runs)


def _ending(run: ReplayRun, look: Look) -> Ending | None:
    """How it ended, unless it failed; None while it is on its way."""
    if look.status in ENDS and look.mark:
        return Ending(run.job_id, ENDS[look.status], instant(look.ended_at) or timezone.now())
    if look.status in ("gone", "odd") or not look.mark:
        return Ending(run.job_id, Run.LOST, timezone.now(), error=GONE, by_watch=True)
    return None


def _retell(commands: Commands, source: Source, run: ReplayRun, look: Look) -> bool:
    """Have the letter tell how it failed this time, and take the failure out, unless all failures were left there.

    Answers False if another round must tell: the failure is gone since, or sent back to run."""
    foreign: ForeignJob = run.letter.foreign
    entry = commands.read(foreign.queue, [foreign.rq_id.encode()])[0]
    if entry.state == "large":
        _conclude([run], TOO_LARGE)
        return True
    record = record_of(entry, foreign.queue) if entry.state == "there" else None
    if record is None or record.text("status") not in DIED or not _told(source, run, record):
        return False
    if look.mark == "taken" and record.score:
        commands.take(foreign.queue, [record.failure])
    return True


def _told(source: Source, run: ReplayRun, record: Record) -> bool:
    try:
        return retell(source.name, record)
    except AWAY:
        raise
    except UNSTORABLE:
        # One that the database does not take must not hold up the others.
        log.exception("how replay %s failed cannot be stored", run.job_id)
        return False


def _conclude(runs: Sequence[ReplayRun], why: str) -> None:
    now = timezone.now()
    settle([Ending(run.job_id, Run.LOST, now, error=why, by_watch=True) for run in runs])


def _give_up(runs: Sequence[ReplayRun], after: timedelta, why: str) -> None:
    """Conclude those that nothing was heard of for so long; the others are looked at later."""
    now = timezone.now()
    _conclude([run for run in runs if now - run.started_at >= after], why)
    _look_again([run for run in runs if now - run.started_at < after], now + LOOK_AGAIN)


def _look_again(runs: Sequence[ReplayRun], at: datetime) -> None:
    _write(runs, check_at=at)


def _note(runs: Sequence[ReplayRun], note: str) -> None:
    """Say of runs that go on whether anybody looks after them, for those who wonder why none of them ends."""
    _write([run for run in runs if run.note != note], note=note)


def _write(runs: Sequence[ReplayRun], **fields: datetime | str) -> None:
    """Of those that still run; one that somebody else has locked is left to the next look."""
    if not runs:
        return
    with transaction.atomic():
        found = _running().filter(pk__in=[run.pk for run in runs]).order_by("pk")
        locked = found.select_for_update(no_key=True, skip_locked=True, of=("self",)).values_list("pk", flat=True)
        ReplayRun.objects.filter(pk__in=list(locked)).update(**fields)


def _running() -> QuerySet[ReplayRun]:
    return ReplayRun.objects.filter(state=Run.RUNNING, letter__foreign__isnull=False)
