"""The list of causes. From the database alone: Redis may be away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import parse_qsl

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from dlq.access import MAX_ID
from dlq.errors import InvalidAction
from dlq.group_filters import UNDRAINED_STATUS, GroupFilter, Searched
from dlq.models import DeadLetterGroup
from dlq.text import one_line
from jobops.web.selectors.choosing import LONGEST_NAME, MOST_TOLD, NO_FILTERS, STAFF_FILTERS
from jobops.web.selectors.group_counts import GroupCounts, open_base, own_counts, whole_counts
from jobops.web.selectors.group_lines import GroupLine, lines_of
from jobops.web.selectors.group_numbers import Numbers, numbers_of, own_numbers
from jobops.web.selectors.group_pages import OwnGroup, Page, own_page, whole_page
from tenants.access import AnyUser, sees_all, tenants_visible_to

MOST_TICKED = 100
"""Twice what a page shows."""

MOST_OWN = 5_000
"""Causes of some tenants that are looked at, the newest: they are put in order by what these tenants have of them."""


@dataclass(frozen=True, slots=True)
class GroupList:
    """One page of causes. ``faults``: what of the query string was passed over, and why. ``scope``: the ids of the
    tenants whose numbers these are; None: everybody's. ``searched_since``: the id of the letter from which on was
    searched; None: in all of them."""

    staff: bool
    filter: GroupFilter
    faults: Mapping[str, str]
    scope: Sequence[int] | None
    counts: GroupCounts
    page: Page
    lines: Sequence[GroupLine]
    read_at: datetime
    searched_since: int | None = None

    @property
    def query(self) -> str:
        """What is asked for, as a query string without the place in the list."""
        return self.filter.as_query()

    @property
    def is_widened(self) -> bool:
        """Whether more is listed than whoever wrote the address meant; another order is no more."""
        return bool(set(self.faults) - {"sort"})


def group_list(user: AnyUser, params: Mapping[str, str]) -> GroupList:
    """The causes that this person may see and asks for, in a constant number of queries.

    Raises ``Http404`` when one of a tenant's people asks for a tenant that does not exist for them.
    """
    staff, now = sees_all(user), timezone.now()
    asked, faults = asked_of_groups(user, params)
    scope = scope_of(user, asked)
    # What was passed over is passed over, and said, on the next page too.
    keep = {name: value for name, value in params.items() if name in faults} | dict(parse_qsl(asked.as_query()))
    searched = asked.searched()
    if scope is None:
        page = whole_page(asked.apply(DeadLetterGroup.objects.all(), searched), asked, params, keep)
        numbers = {group.pk: numbers_of(group) for group in page.rows}
        counts = whole_counts(asked, searched, now)
    else:
        numbers = _newest(own_numbers(scope))
        base = list(_own_groups(open_base(asked), searched, numbers, now))
        is_base = replace(asked, sort="due") == open_base(asked)
        listed = base if is_base else list(_own_groups(asked, searched, numbers, now))
        page = own_page(listed, numbers, asked, params, keep)
        counts = own_counts(asked, listed, base, numbers, scope, now)
    lines = lines_of(user, page.rows, numbers, now, scope)
    since = searched.since if searched else None
    return GroupList(staff, asked, faults, scope, counts, page, lines, now, since)


def _newest(own: dict[int, Numbers]) -> dict[int, Numbers]:
    if len(own) <= MOST_OWN:
        return own
    return dict(sorted(own.items(), key=lambda item: item[1].last_at, reverse=True)[:MOST_OWN])


def _own_groups(
    asked: GroupFilter, searched: Searched | None, own: Mapping[int, Numbers], now: datetime
) -> Iterator[OwnGroup]:
    """Those that are meant by what these tenants have of them: the due times of others are none of theirs."""
    groups = replace(asked, overdue=False).apply(DeadLetterGroup.objects.filter(pk__in=list(own)), searched)
    # May be thousands, of which a page is read whole.
    for row in groups.order_by().values_list(*OwnGroup._fields):
        group = OwnGroup(*row)
        has = own[group.pk]
        if asked.status == UNDRAINED_STATUS and not has.undrained:
            continue
        if not asked.overdue or (has.due_at is not None and has.due_at <= now):
            yield group


def asked_of_groups(user: AnyUser, params: Mapping[str, str]) -> tuple[GroupFilter, dict[str, str]]:
    """The filter that an address asks for, and what of it was passed over, and why."""
    known = set(GroupFilter.defaults()) - (set() if sees_all(user) else STAFF_FILTERS | {"status"})
    asked, faults = GroupFilter.parse({name: value for name, value in params.items() if name in known})
    unknown = [name for name in params if name not in known and name not in NO_FILTERS]
    told = {one_line(name, LONGEST_NAME): "there is no such filter" for name in unknown[:MOST_TOLD]}
    return replace(asked, me=user.pk), faults | told


def scope_of(user: AnyUser, asked: GroupFilter) -> list[int] | None:
    """Whose numbers are shown: those of the tenant that is asked for, else of all that this person may see."""
    if asked.tenant:
        tenants = list(tenants_visible_to(user).filter(slug=asked.tenant).values_list("pk", flat=True))
        if not tenants and not sees_all(user):
            raise Http404("No such tenant.")
        return tenants
    return None if sees_all(user) else list(tenants_visible_to(user).values_list("pk", flat=True))


def ticked_groups(groups: QuerySet[DeadLetterGroup], texts: Sequence[str]) -> list[int]:
    """Those of the causes whose ids a form names, in the order of their ids. Raises ``InvalidAction`` for none."""
    ids = {int(text) for text in texts if text.isascii() and text.isdigit() and len(text) < 20}
    if not ids or len(ids) > MOST_TICKED:
        raise InvalidAction("ids", "nothing is ticked" if not ids else f"at most {MOST_TICKED} can be ticked")
    found = list(groups.filter(pk__in=[pk for pk in ids if pk <= MAX_ID]).order_by("pk").values_list("pk", flat=True))
    if not found:
        raise InvalidAction("ids", "what was ticked is not there any more")
    return found
