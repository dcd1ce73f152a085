"""Which causes the breaches of a time came from."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet

from dlq.clock.overdue import overdue
from dlq.clock.period import Period
from dlq.clock.report import BREACHED
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup


class Breached(NamedTuple):
    """A cause, and how many of its letters were drained late or are late and not drained."""

    group: DeadLetterGroup
    drained_late: int
    left_late: int

    @property
    def title(self) -> str:
        """What to call it, never empty."""
        return self.group.title or self.group.error_class or f"Cause {self.group.pk}"


def breached_causes(period: Period, now: datetime, team: str = "", most: int = 5) -> list[Breached]:
    """The causes with the most breaches, as the report counts them; four queries. Of a period that has ended, what
    is late still counts as left late, and what was drained since does not."""
    letters = DeadLetter.objects.filter(Q(owner=team) if team else Q(), group__isnull=False).order_by()
    drained = letters.filter(BREACHED, drained_at__gte=period.since, drained_at__lt=period.until)
    late = Counter(dict(drained.values_list("group").annotate(Count("id"))))
    waits = _late_now(now) if not team and period.until >= now else _late_then(letters, period, now)
    worst = [group_id for group_id, _ in (late + waits).most_common(most)]
    groups = DeadLetterGroup.objects.in_bulk(worst)
    return [Breached(groups[pk], late[pk], waits[pk]) for pk in worst if pk in groups]


def _late_now(now: datetime) -> Counter[int]:
    """Of all teams: read cause by cause off their index, which holds all that is asked."""
    ids = DeadLetterGroup.objects.exclude(state=DeadLetterGroup.State.DRAINED).order_by().values_list("pk", flat=True)
    return Counter({pk: found.late for pk, found in overdue(list(ids), now).items()})


def _late_then(letters: QuerySet[DeadLetter], period: Period, now: datetime) -> Counter[int]:
    left = letters.filter(state__in=UNDRAINED, due_at__lte=min(period.until, now), dead_at__lt=period.until)
    return Counter(dict(left.values_list("group").annotate(Count("id"))))
