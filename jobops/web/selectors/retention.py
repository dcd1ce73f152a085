"""What retention keeps, and what it deletes next, as its page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import F, Sum
from django.urls import reverse
from django.utils import timezone

from dlq.drained_in import BETWEEN
from dlq.filters import ALL_STATUS
from dlq.models import DeadLetterGroup
from dlq.purging import purgeable
from dlq.retention import ANNOUNCED_DAYS, announcement, kept_since
from jobops.audit.models import AuditEntry
from jobops.web.bulk_words import chosen_words
from jobops.web.retention_words import MOST_DUE, day_words

MOST_PURGES = 10


@dataclass(frozen=True, slots=True)
class Cell:
    """How many go on a day, and the list of them."""

    day: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class Line:
    """A team's letters that go, day by day; of all teams, it has no name."""

    owner: str
    cells: Sequence[Cell]
    total: int
    url: str


@dataclass(frozen=True, slots=True)
class Purge:
    """A batch that was deleted. ``what``: how it was chosen by hand, empty for what retention took by itself."""

    at: datetime
    by: str
    letters: int
    what: str


@dataclass(frozen=True, slots=True)
class RetentionPage:
    """``due``: what is to go already, counted as far as ``MOST_DUE``; ``open``, ``drained`` and ``purged``: from the
    kept counts, the last one of all times."""

    days: int
    floor: int
    lines: Sequence[Line]
    all_teams: Line
    due: int
    open: int
    drained: int
    purged: int
    purges: Sequence[Purge]

    @property
    def day_names(self) -> list[str]:
        """The heads of the columns."""
        return [cell.day for cell in self.all_teams.cells]


def retention_page() -> RetentionPage:
    """The page, in four queries."""
    now = timezone.now()
    soon = announcement(now)
    places = [f"{day.isoformat()}{BETWEEN}{day.isoformat()}" for day in soon.drained]
    whole = f"{soon.drained[0].isoformat()}{BETWEEN}{soon.drained[-1].isoformat()}"

    names = [day_words(day, soon.days[0]) for day in soon.days]

    def line(owner: str, numbers: Sequence[int]) -> Line:
        lists = [_list(owner, place) for place in places]
        cells = [Cell(*each) for each in zip(names, numbers, lists, strict=True)]
        return Line(owner, cells, sum(numbers), _list(owner, whole))

    counts = _counts()
    return RetentionPage(
        settings.JOBOPS_RETENTION_DAYS,
        settings.JOBOPS_RETENTION_FLOOR_DAYS,
        [line(team.owner, team.days) for team in soon.teams],
        line("", soon.sums or [0] * ANNOUNCED_DAYS),
        purgeable(kept_since(now)).order_by().values("pk")[: MOST_DUE + 1].count(),
        **counts,
        purges=_purges(),
    )


def _list(owner: str, drained: str) -> str:
    """The letters that were drained on these days."""
    asked = {"status": ALL_STATUS, "owner": owner, "drained": drained}
    return f"{reverse('dlq')}?{urlencode({name: value for name, value in asked.items() if value})}"


def _counts() -> dict[str, int]:
    sums = DeadLetterGroup.objects.aggregate(
        open=Sum(F("open") + F("replaying")), drained=Sum(F("resolved") + F("discarded")), purged=Sum(F("purged"))
    )
    return {name: count or 0 for name, count in sums.items()}


def _purges() -> list[Purge]:
    rows = AuditEntry.objects.filter(action="letter.purge").order_by("-id")[:MOST_PURGES]
    return [
        Purge(
            row.at,
            row.actor,
            int(row.after.get("letters") or 0),
            chosen_words(str(row.after["filter"]), staff=True) if row.after.get("filter") else "",
        )
        for row in rows
    ]
