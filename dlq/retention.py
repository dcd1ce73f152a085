"""How long what is drained is kept: until then a discard can be undone, after that retention purges it.

What is not drained is kept for ever, however old and however many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from dlq.clock.period import midnight
from dlq.models import UNDRAINED, DeadLetter

ANNOUNCED_DAYS = 7


@dataclass(frozen=True, slots=True)
class Going:
    """What one team loses to retention: ``days``: on each of the announced days how many of its letters go."""

    owner: str
    days: Sequence[int]

    @property
    def total(self) -> int:
        """On all the days."""
        return sum(self.days)


@dataclass(frozen=True, slots=True)
class Announcement:
    """What goes soon. ``days``: the days, today first; ``drained``: on which day what goes then was drained;
    ``teams``: those that lose something, the one that loses most first."""

    days: Sequence[date]
    drained: Sequence[date]
    teams: Sequence[Going]

    @property
    def sums(self) -> list[int]:
        """By day, of all teams."""
        return [sum(numbers) for numbers in zip(*(team.days for team in self.teams), strict=True)]

    @property
    def total(self) -> int:
        """Of all teams on all the days."""
        return sum(team.total for team in self.teams)


def kept_for() -> timedelta:
    """How long a drained letter is kept."""
    return timedelta(days=settings.JOBOPS_RETENTION_DAYS)


def least_kept_for() -> timedelta:
    """What was drained less long ago nobody purges, by hand either."""
    return timedelta(days=settings.JOBOPS_RETENTION_FLOOR_DAYS)


def kept_since(now: datetime | None = None) -> datetime:
    """What was drained before this instant retention purges."""
    return (now or timezone.now()) - kept_for()


def drained_ones(letters: QuerySet[DeadLetter]) -> QuerySet[DeadLetter]:
    """Those of the letters that are drained, for a query that asks for when, too."""
    # Said this way round: for the states that they are in, SQLite reads an index of those, and sorts all of them.
    return letters.exclude(state__in=UNDRAINED)


def too_late() -> str:
    """Why a discard cannot be undone any more, in words that follow "skipped:"."""
    return f"it was discarded more than {settings.JOBOPS_RETENTION_DAYS} days ago"


def announcement(now: datetime | None = None, count: int = ANNOUNCED_DAYS) -> Announcement:
    """What retention purges today and on the days after it, ``count`` days in all, by day and team. One query.

    Days begin in the zone that is active.
    """
    today = timezone.localdate(now)
    days = [today + timedelta(days=number) for number in range(count)]
    # Day by day, and not to the second: each is a day of the list's filter too.
    drained = [day - kept_for() for day in days]
    each = {f"on_{n}": Count("pk", filter=_drained_on(day)) for n, day in enumerate(drained)}
    letters = drained_ones(DeadLetter.objects.all()).filter(
        drained_at__gte=midnight(drained[0]), drained_at__lt=midnight(drained[-1] + timedelta(days=1))
    )
    rows = letters.order_by().values_list("owner").annotate(**each)
    teams = [Going(owner, numbers) for owner, *numbers in rows]
    return Announcement(days, drained, sorted(teams, key=lambda team: (-team.total, team.owner)))


def _drained_on(day: date) -> Q:
    return Q(drained_at__gte=midnight(day), drained_at__lt=midnight(day + timedelta(days=1)))
