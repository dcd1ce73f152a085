"""One round: read every signal, judge it, and carry the episodes on.

Any number of processes may do this at once. Nothing is remembered between rounds but in the database, so that a restart
neither begins a clock anew nor tells of an episode twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import Error as DatabaseError
from django.utils import timezone

from jobops.alerts import baselines
from jobops.alerts.episodes import carry_on
from jobops.alerts.judging import Judged, Look, gathered, judged
from jobops.alerts.models import Alert
from jobops.alerts.rules import Limits
from jobops.alerts.signals import SIGNALS
from jobops.alerts.sources import Sources, Unread
from jobops.engine.client import Engine

log = logging.getLogger("jobops.alerts")

STALE_S = 60.0
"""What took longer to read than this says nothing about now: the process slept, or a store hung."""
KEEP = timedelta(days=90)
FORGET_BATCH = 500

_broken: dict[str, str] = {}


def evaluate(
    engine: Engine, now: datetime | None = None, *, only: Collection[str] | None = None, redis_away: bool = False
) -> int:
    """Read the signals (``only`` these, or all) and open, carry on, tell of and resolve episodes; answers how many of
    them changed. ``redis_away``: it did not answer a moment ago, and is not asked again.

    Raises ``django.db.Error``; what Redis does not tell neither fires nor resolves anything.
    """
    began = time.monotonic()
    at = now or timezone.now()
    seen = look(engine, at, only=only, redis_away=redis_away)
    if time.monotonic() - began > STALE_S:
        log.warning("a round of the alerts took %.0f s to read and is left out", time.monotonic() - began)
        return 0
    return carry_on(seen, at)


def look(engine: Engine, now: datetime, *, only: Collection[str] | None = None, redis_away: bool = False) -> Look:
    """What the signals say now; changes no episode. Raises ``django.db.Error``."""
    limits = Limits.read()
    sources = Sources(engine, now, limits, redis_away=redis_away)
    rows: list[Judged] = []
    unread: dict[str, str] = {}
    names = [name for name in SIGNALS if only is None or name in only]
    for name in names:
        try:
            rows += judged(SIGNALS[name], SIGNALS[name].read(sources), limits)
        except Unread as error:
            unread[name] = str(error)
        except DatabaseError:
            raise
        except Exception as error:  # noqa: BLE001  (somebody else's bytes in one key must not silence the others)
            unread[name] = f"{type(error).__name__}: {error}"
    _tell_broken(names, unread)
    if "run_time" in names and "run_time" not in unread:
        _learn(sources, now)
    read = frozenset(names) - unread.keys()
    return Look(gathered(rows), read, unread, whole=only is None, skews=dict(sources.skews))


def forget(now: datetime | None = None) -> int:
    """Delete episodes that were over long ago, with what was sent of them; answers how many."""
    old = Alert.objects.filter(resolved_at__lt=(now or timezone.now()) - KEEP).order_by("resolved_at")
    ids = list(old.values_list("pk", flat=True)[:FORGET_BATCH])
    if ids:
        Alert.objects.filter(pk__in=ids).delete()
    return len(ids)


def _learn(sources: Sources, now: datetime) -> None:
    measured = {each.name: times.p99_s for each, times in sources.run_times.items() if times.p99_s is not None}
    if measured:
        baselines.learn(measured, now)


def _tell_broken(names: Collection[str], unread: dict[str, str]) -> None:
    """The log hears once of a signal that cannot be read, and once that it can be again."""
    for name in names:
        why = unread.get(name)
        if why is not None and name not in _broken:
            log.warning("signal %s cannot be read: %s", name, why)
        if why is None and _broken.pop(name, None) is not None:
            log.info("signal %s can be read again", name)
        if why is not None:
            _broken[name] = why
