"""How a drain clock stands: on track, soon due, breached, paused, or stopped as its letter was drained.

``due_at`` counts with the whole of a pause from its first instant on. So at any time the clock shows what it will show
at the pause's end, and no duty has to end a pause: ``due_at`` against the later of now and that end says it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import OuterRef, Subquery

from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup

WARNS_AT = 0.75
"""The share of the drain SLA after which a clock is in warning."""


class Kind(StrEnum):
    """What a clock says."""

    ON_TRACK = "on_track"
    WARNING = "warning"
    BREACHED = "breached"
    PAUSED = "paused"
    DRAINED = "drained"


@dataclass(frozen=True, slots=True)
class Standing:
    """``used``: the share of the drain SLA that has gone, pauses left out; above 1 when breached. ``late``: whether
    the due time had passed when it was drained or, of one that is not, has passed by now: a pause mends no breach."""

    kind: Kind
    used: float
    late: bool


def standing(
    *,
    dead_at: datetime,
    due_at: datetime,
    sla_s: int,
    paused_until: datetime | None,
    drained_at: datetime | None,
    now: datetime,
) -> Standing:
    """How the clock of a letter with these fields stands. ``sla_s`` 0: not known, the whole time to ``due_at``
    counts as its SLA."""
    at = drained_at or now
    paused = paused_until is not None and paused_until > at
    shown_at = max(at, paused_until) if paused_until is not None else at
    left_s = (due_at - shown_at).total_seconds()
    whole_s = sla_s or (due_at - dead_at).total_seconds()
    late = left_s < 0 if drained_at is not None else left_s <= 0
    used = max(0.0, 1 - left_s / whole_s) if whole_s > 0 else float(late)
    return Standing(_kind(drained_at is not None, paused, late, used), used, late)


def _kind(drained: bool, paused: bool, late: bool, used: float) -> Kind:
    if drained:
        return Kind.DRAINED
    if paused:
        return Kind.PAUSED
    if late:
        return Kind.BREACHED
    return Kind.WARNING if used >= WARNS_AT else Kind.ON_TRACK


def letter_standing(letter: DeadLetter, now: datetime) -> Standing:
    """How this letter's clock stands."""
    return standing(
        dead_at=letter.dead_at,
        due_at=letter.due_at,
        sla_s=letter.sla_s,
        paused_until=letter.clock_paused_until,
        drained_at=letter.drained_at,
        now=now,
    )


def group_standings(groups: Iterable[DeadLetterGroup], now: datetime) -> dict[int, Standing]:
    """How the clocks of these groups stand, by group id: each as its letter that is due first. One query for all.

    A group without undrained letters has no clock, and so no answer.
    """
    due = {group.pk: group for group in groups if group.due_at is not None}
    of_group = DeadLetter.objects.filter(group=OuterRef("pk"), due_at=OuterRef("due_at"), state__in=UNDRAINED)
    # Looked up group by group: joined, the database might read all that is due of each.
    groups = DeadLetterGroup.objects.filter(pk__in=list(due)).order_by()
    first = groups.values(first=Subquery(of_group.values("pk")[:1]))
    letters = DeadLetter.objects.filter(pk__in=first).order_by()
    facts = {row["group"]: row for row in letters.values("group", "dead_at", "sla_s", "clock_paused_until")}
    found = {}
    for group_id, group in due.items():
        row: Mapping[str, Any] = facts.get(group_id, {})
        found[group_id] = standing(
            dead_at=row.get("dead_at") or group.first_seen_at,
            due_at=group.due_at or now,
            sla_s=row.get("sla_s") or 0,
            paused_until=row.get("clock_paused_until") or group.clock_paused_until,
            drained_at=None,
            now=now,
        )
    return found
