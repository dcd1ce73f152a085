"""How many letters and causes stand behind each view of the list of causes, from counts that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Count, F, Q, Sum

from dlq.capped import count_up_to
from dlq.group_filters import UNDRAINED_STATUS, GroupFilter, Searched
from dlq.models import UNDRAINED, DeadLetter, DeadLetterGroup
from dlq.people import teams_of
from jobops.web.selectors.dead import undrained
from jobops.web.selectors.group_numbers import Numbers
from jobops.web.selectors.group_pages import OwnGroup
from jobops.web.selectors.letter_counts import CAP, SEARCH_CAP, Found
from jobops.web.selectors.letter_kept import without_cause
from tenants.access import AnyUser, sees_all

LEFT = F("open") + F("replaying")
MOST_NAMED = 3
"""How many of the largest causes the page names together."""


@dataclass(frozen=True, slots=True)
class Tally:
    """So many letters of so many causes."""

    letters: int = 0
    causes: int = 0


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """``here``: what the list shows; ``all``, ``mine``, ``team`` and ``unassigned``: undrained letters of the views,
    with the same filters otherwise; ``overdue``: letters past their due time, None where nobody has counted.

    ``unsorted``: undrained letters without a cause yet. ``largest``: letters of the largest causes, the most first.
    ``late_jobs``: the job types of overdue causes, at most two of them.
    """

    here: Tally
    all: Tally
    mine: int = 0
    team: int = 0
    unassigned: int = 0
    overdue: Found | None = None
    unsorted: int = 0
    largest: Sequence[int] = ()
    late_jobs: Sequence[str] = ()


def open_base(asked: GroupFilter) -> GroupFilter:
    """The same filter at the view of all that somebody has to deal with."""
    return replace(asked, status=UNDRAINED_STATUS, owner="", assignee="", overdue=False, sort="due")


def whole_counts(asked: GroupFilter, searched: Searched | None, now: datetime) -> GroupCounts:
    """Counts over all tenants, in a constant number of queries."""
    base, teams = open_base(asked), teams_of(asked.me)
    groups = base.apply(DeadLetterGroup.objects.all(), searched)
    sums = groups.aggregate(
        letters=Sum(LEFT, default=0),
        causes=Count("pk"),
        mine=Sum(LEFT, filter=Q(assignee=asked.me), default=0),
        team=Sum(LEFT, filter=Q(owner__in=teams), default=0),
        unassigned=Sum(LEFT, filter=Q(assignee__isnull=True), default=0),
    )
    everything = Tally(sums["letters"], sums["causes"])
    late = groups.filter(due_at__lte=now)
    return GroupCounts(
        _here(asked, base, everything, searched),
        everything,
        sums["mine"],
        sums["team"],
        sums["unassigned"],
        _late(base),
        0 if base.is_narrowed else unsorted(),
        list(groups.annotate(left=LEFT).order_by("-left").values_list("left", flat=True)[:MOST_NAMED]),
        list(late.order_by().values_list("job_type", flat=True).distinct()[:2]),
    )


def own_counts(
    asked: GroupFilter,
    listed: Sequence[OwnGroup],
    base: Sequence[OwnGroup],
    own: Mapping[int, Numbers],
    scope: Sequence[int],
    now: datetime,
) -> GroupCounts:
    """The same for some tenants, from causes that are read already; ``base``: those of the view of all."""
    teams = teams_of(asked.me)

    def count(groups: Iterable[OwnGroup]) -> int:
        return sum(own[group.pk].undrained for group in groups)

    alone = without_cause(scope).filter(state__in=UNDRAINED)
    late = [group for group in base if (due := own[group.pk].due_at) is not None and due <= now]
    return GroupCounts(
        Tally(count(listed), len(listed)),
        Tally(count(base), len(base)),
        count(group for group in base if group.assignee_id is not None and group.assignee_id == asked.me),
        count(group for group in base if group.owner in teams),
        count(group for group in base if group.assignee_id is None),
        _late(open_base(asked), scope),
        0 if replace(open_base(asked), tenant="").is_narrowed else alone.count(),
        sorted((own[group.pk].undrained for group in base), reverse=True)[:MOST_NAMED],
        sorted({group.job_type for group in late})[:2],
    )


def unsorted() -> int:
    """Undrained letters without a cause yet: few, and soon none; they have an index of their own."""
    return without_cause().filter(state__in=UNDRAINED).count()


def undrained_count(user: AnyUser) -> int:
    """All that somebody has to deal with, of what this person sees: for staff from the counts of causes, of which there
    are few beside their letters."""
    if not sees_all(user):
        return undrained(user).count()
    return whole_undrained()


def whole_undrained() -> int:
    """The same of all tenants."""
    groups = DeadLetterGroup.objects.filter(due_at__isnull=False)
    return int(groups.aggregate(letters=Sum(LEFT, default=0))["letters"]) + unsorted()


def _here(asked: GroupFilter, base: GroupFilter, everything: Tally, searched: Searched | None) -> Tally:
    if replace(asked, sort="due") == base:
        return everything
    meant = asked.apply(DeadLetterGroup.objects.all(), searched)
    return Tally(**meant.aggregate(letters=Sum(LEFT, default=0), causes=Count("pk")))


def _late(base: GroupFilter, scope: Sequence[int] | None = None) -> Found | None:
    if base.q:
        return None
    late = replace(base.letters(), overdue=True)
    letters = DeadLetter.objects.all()
    if scope is not None and (not scope or not base.tenant):
        letters = letters.filter(tenant__in=scope)
    return Found(count_up_to(late.apply(letters), CAP if late.is_counted else SEARCH_CAP))
