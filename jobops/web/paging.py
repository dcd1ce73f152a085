"""Lists page by cursor: ``after`` and ``before`` name a row's key, so that pages stay put while rows come and go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, Q, QuerySet

M = TypeVar("M", bound=Model)
SIZE = 50
LONGEST_KEY = 200


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """One page, and the query strings of its neighbours (empty: there is none)."""

    rows: list[M]
    before: str
    after: str


def slice_by(rows: QuerySet[M], field: str, params: Mapping[str, str], keep: Mapping[str, str]) -> Slice[M]:
    """The page that ``params`` asks for, in the order of a unique text ``field``. ``keep``: the other parameters.

    A cursor that cannot be one (too long, control characters) is passed over: the first page.
    """
    after, before = _cursor(params, "after"), _cursor(params, "before")
    if before and not after:
        found = list(rows.filter(**{f"{field}__lt": before}).order_by(f"-{field}")[: SIZE + 1])
        page, more = found[:SIZE][::-1], len(found) > SIZE
        has_before, has_after = more, bool(page)
    else:
        wanted = rows.filter(**{f"{field}__gt": after}) if after else rows
        found = list(wanted.order_by(field)[: SIZE + 1])
        page, more = found[:SIZE], len(found) > SIZE
        has_before, has_after = bool(after and page), more
    return Slice(
        page,
        _link("before", page[0], field, keep) if has_before else "",
        _link("after", page[-1], field, keep) if has_after else "",
    )


def slice_by_id(rows: QuerySet[M], params: Mapping[str, str], keep: Mapping[str, str]) -> Slice[M]:
    """The same for rows in the order of their ids, the newest first."""
    after, before = id_cursor(params, "after"), id_cursor(params, "before")
    if before and not after:
        found = list(rows.filter(pk__gt=before).order_by("pk")[: SIZE + 1])
        page, more = found[:SIZE][::-1], len(found) > SIZE
        has_before, has_after = more, bool(page)
    else:
        wanted = rows.filter(pk__lt=after) if after else rows
        found = list(wanted.order_by("-pk")[: SIZE + 1])
        page, more = found[:SIZE], len(found) > SIZE
        has_before, has_after = bool(after and page), more
    return Slice(
        page,
        _link("before", page[0], "pk", keep) if has_before else "",
        _link("after", page[-1], "pk", keep) if has_after else "",
    )


def slice_by_instant(
    parts: Sequence[QuerySet[M]],
    field: str,
    params: Mapping[str, str],
    keep: Mapping[str, str],
    *,
    newest: bool = False,
    text_ids: bool = False,
) -> Slice[M]:
    """The same for rows in the order of an instant and, within one, of their id; ``newest``: the latest first.

    ``parts``: querysets without a row in common, whose rows come in one order; each is read from its own index.
    ``text_ids``: their ids are text.
    """
    after, before = (_instant(params, name, text_ids=text_ids) for name in ("after", "before"))
    if before and not after:
        found = _merged(parts, field, before, back=not newest)
        page, more = found[:SIZE][::-1], len(found) > SIZE
        has_before, has_after = more, bool(page)
    else:
        found = _merged(parts, field, after, back=newest)
        page, more = found[:SIZE], len(found) > SIZE
        has_before, has_after = bool(after and page), more

    def link(name: str, row: M) -> str:
        kept = {key: value for key, value in keep.items() if value}
        return "?" + urlencode({**kept, name: f"{getattr(row, field).isoformat()}~{row.pk}"})

    return Slice(page, link("before", page[0]) if has_before else "", link("after", page[-1]) if has_after else "")


def _merged(
    parts: Sequence[QuerySet[M]], field: str, cursor: tuple[datetime, int | str] | None, *, back: bool
) -> list[M]:
    """The first rows beyond the cursor, one more than a page has. ``back``: towards earlier instants."""
    order = (f"-{field}", "-pk") if back else (field, "pk")
    side = "lt" if back else "gt"
    rows: list[M] = []
    for part in parts:
        if cursor:
            at, pk = cursor
            # The first condition alone is what an index can begin from.
            beyond = Q(**{f"{field}__{side}": at}) | Q(**{f"pk__{side}": pk})
            part = part.filter(Q(**{f"{field}__{side}e": at}) & beyond)
        rows += part.order_by(*order)[: SIZE + 1]
    return sorted(rows, key=lambda row: (getattr(row, field), row.pk), reverse=back)[: SIZE + 1]


def _instant(params: Mapping[str, str], name: str, *, text_ids: bool) -> tuple[datetime, int | str] | None:
    text, _, pk = _cursor(params, name).partition("~")
    try:
        at = datetime.fromisoformat(text)
        is_aware = at.tzinfo is not None
        # PostgreSQL takes no offset of many hours; and near the ends of time there is no such instant.
        at = at.astimezone(UTC) if is_aware else at
    except (ValueError, OverflowError):
        return None
    if not (is_aware and 1970 <= at.year < 9999):
        return None
    if text_ids:
        return (at, pk) if pk else None
    return (at, int(pk)) if pk.isascii() and pk.isdigit() and len(pk) < 19 else None


def _cursor(params: Mapping[str, str], name: str) -> str:
    value = params.get(name, "")
    return value if len(value) <= LONGEST_KEY and value.isprintable() else ""


def _link(name: str, row: Model, field: str, keep: Mapping[str, str]) -> str:
    return "?" + urlencode({**{key: value for key, value in keep.items() if value}, name: getattr(row, field)})


def id_cursor(params: Mapping[str, str], name: str) -> int | None:
    """The id that a cursor names; None for none, and for what cannot be one."""
    text = params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 and int(text) else None
