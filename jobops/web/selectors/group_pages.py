"""Pages of causes by cursor: in the database where a cause is seen whole, else among what a person has of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import F, Q, QuerySet
from django.db.models.fields import BigIntegerField
from django.db.models.functions import Coalesce

from dlq.access import MAX_ID
from dlq.group_filters import GroupFilter
from dlq.models import DeadLetterGroup
from jobops.web.paging import LONGEST_KEY, SIZE
from jobops.web.selectors.group_numbers import Numbers

FAR = datetime(9998, 12, 31, tzinfo=UTC)
"""Where a cause without a due time stands among those that have one."""


class OwnGroup(NamedTuple):
    """What is read of every cause that a person has something of, to count and to sort."""

    pk: int
    owner: str
    assignee_id: int | None
    job_type: str


@dataclass(frozen=True, slots=True)
class Order:
    """``column``: what the database sorts by; ``of``: the same of a person's own numbers; ``read``: a cursor's text."""

    column: str
    of: Callable[[OwnGroup, Numbers], Any]
    read: Callable[[str], Any]
    falls: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """The causes of a page, and the query strings of its neighbours (empty: there is none)."""

    rows: Sequence[DeadLetterGroup]
    before: str
    after: str


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None or not 1970 <= at.year < 9999:
        raise ValueError("no instant of ours")
    return at.astimezone(UTC)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise ValueError("no count")
    return int(text)


ORDERS = {
    "due": Order("due_at", lambda group, own: own.due_at or FAR, _instant),
    "-open": Order("left", lambda group, own: own.undrained, _count, falls=True),
    "-tenants": Order("tenants", lambda group, own: own.tenants, _count, falls=True),
    "-last": Order("last_seen_at", lambda group, own: own.last_at, _instant, falls=True),
    "owner": Order("owner", lambda group, own: group.owner, str),
}


def whole_page(
    groups: QuerySet[DeadLetterGroup], asked: GroupFilter, params: Mapping[str, str], keep: Mapping[str, str]
) -> Page:
    """The page that ``params`` asks for, read off an index where there is one. ``keep``: the other parameters."""
    order = ORDERS[asked.order]
    left = Coalesce(F("open") + F("replaying"), 0, output_field=BigIntegerField())
    groups = groups.select_related("assignee").annotate(left=left)

    def read(cursor: tuple[Any, int] | None, *, back: bool) -> list[DeadLetterGroup]:
        down = order.falls != back
        side, sign = ("lt", "-") if down else ("gt", "")
        wanted = groups
        if cursor is not None:
            beyond = Q(**{f"{order.column}__{side}": cursor[0]}) | Q(**{f"pk__{side}": cursor[1]})
            # The first condition alone is what an index can begin from.
            wanted = groups.filter(Q(**{f"{order.column}__{side}e": cursor[0]}) & beyond)
        return list(wanted.order_by(f"{sign}{order.column}", f"{sign}pk")[: SIZE + 1])

    return _page(read, order, lambda group: getattr(group, order.column), params, keep)


def own_page(
    groups: Sequence[OwnGroup],
    own: Mapping[int, Numbers],
    asked: GroupFilter,
    params: Mapping[str, str],
    keep: Mapping[str, str],
) -> Page:
    """The same in the order of what a person has of each; the causes of the page are read whole."""
    order = ORDERS[asked.order]

    keys = {group.pk: order.of(group, own[group.pk]) for group in groups}

    def read(cursor: tuple[Any, int] | None, *, back: bool) -> list[DeadLetterGroup]:
        down = order.falls != back
        places = [(key, pk) for pk, key in keys.items()]
        wanted = [at for at in places if cursor is None or (at < cursor if down else at > cursor)]
        ids = [pk for _, pk in sorted(wanted, reverse=down)[: SIZE + 1]]
        found = DeadLetterGroup.objects.select_related("assignee").in_bulk(ids)
        return [found[pk] for pk in ids if pk in found]

    return _page(read, order, lambda group: keys[group.pk], params, keep)


def _page(
    read: Callable[..., list[DeadLetterGroup]],
    order: Order,
    key: Callable[[DeadLetterGroup], Any],
    params: Mapping[str, str],
    keep: Mapping[str, str],
) -> Page:
    after, before = (_cursor(params.get(name, ""), order) for name in ("after", "before"))
    if before and not after:
        found = read(before, back=True)
        rows, more = found[:SIZE][::-1], len(found) > SIZE
        has_before, has_after = more, bool(rows)
    else:
        found = read(after, back=False)
        rows, more = found[:SIZE], len(found) > SIZE
        has_before, has_after = bool(after and rows), more

    def link(name: str, group: DeadLetterGroup) -> str:
        value = key(group)
        text = value.isoformat() if isinstance(value, datetime) else str(value)
        return "?" + urlencode({**keep, name: f"{text}~{group.pk}"})

    return Page(rows, link("before", rows[0]) if has_before else "", link("after", rows[-1]) if has_after else "")


def _cursor(text: str, order: Order) -> tuple[Any, int] | None:
    """What a cursor names; None for none, and for what cannot be one: the first page."""
    value, _, pk = text.rpartition("~")
    if not text or len(text) > LONGEST_KEY or not text.isprintable() or not (pk.isascii() and pk.isdigit()):
        return None
    try:
        number = int(pk[:20])
        return (order.read(value), number) if number <= MAX_ID else None
    except (ValueError, OverflowError):
        return None
