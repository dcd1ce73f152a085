"""Lists page by cursor: ``after`` and ``before`` name a row's key, so that pages stay put while rows come and go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet

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


def _cursor(params: Mapping[str, str], name: str) -> str:
    value = params.get(name, "")
    return value if len(value) <= LONGEST_KEY and value.isprintable() else ""


def _link(name: str, row: Model, field: str, keep: Mapping[str, str]) -> str:
    return "?" + urlencode({**{key: value for key, value in keep.items() if value}, name: getattr(row, field)})
