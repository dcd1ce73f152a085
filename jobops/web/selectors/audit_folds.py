"""Rows of the audit that are parts of one act, folded into one line each: what was done to many letters at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from jobops.audit.filters import AuditFilter
from jobops.audit.models import AuditEntry
from jobops.audit.reading import Rows, merged
from jobops.web.paging import SIZE, Slice, id_cursor

EACH = "each"
"""The parameter that asks for every row as a line of its own."""
FEWEST = 3
"""Rows that are worth a fold."""
TOGETHER = timedelta(seconds=10)
"""How far apart the batches of one act come."""
MOST_READ = 2_000
"""Rows that one page looks at; a longer act goes on, on the next one."""


class Light(NamedTuple):
    """What of a row says whether it belongs to the one before."""

    pk: int
    at: datetime
    actor: str
    actor_kind: str
    action: str
    target_kind: str
    reason: str
    request_id: str
    tenant_slug: str


@dataclass(frozen=True, slots=True)
class Fold:
    """Rows of one act, the newest first; one row is a fold of one. ``entry``: the newest in full."""

    entry: AuditEntry
    rows: Sequence[Light]

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.rows)

    @property
    def tenants(self) -> int:
        """Of how many tenants' letters."""
        return len({row.tenant_slug for row in self.rows})

    def each_query(self, wanted: AuditFilter, *, who: bool) -> str:
        """The query string that shows its rows one by one. ``who``: whether this person may ask for the actor."""
        asked = {
            "what": self.entry.action,
            "since": self.rows[-1].at.isoformat(),
            "until": (self.rows[0].at + timedelta(microseconds=1)).isoformat(),
        }
        return f"{wanted.as_query(**asked, **({'who': self.entry.actor} if who else {}))}&{EACH}=1"


def audit_folds(
    parts: Sequence[Rows], wanted: AuditFilter, params: Mapping[str, str]
) -> tuple[list[Fold], Slice[AuditEntry]]:
    """The lines of the page that ``params`` asks for, the newest first: a query for each part, and one more."""
    one_by_one = params.get(EACH) == "1"
    after, before = id_cursor(params, "after"), id_cursor(params, "before")
    limit = SIZE if one_by_one else MOST_READ
    is_back = bool(before and not after)
    beyond = before if is_back else after
    found = merged(parts, limit + 1, beyond, back=is_back, columns=Light._fields)
    read = [Light(*row) for row in found]
    acts = [[row] for row in read[:limit]] if one_by_one else in_acts(read[:limit])
    more = len(acts) > SIZE or len(read) > limit
    shown = acts[:SIZE]
    if is_back:
        shown = [act[::-1] for act in shown[::-1]]
    heads = AuditEntry.objects.in_bulk([act[0].pk for act in shown]) if shown else {}
    folds = [Fold(heads[act[0].pk], act) for act in shown]
    has_newer, has_older = (more, bool(folds)) if is_back else (bool(after and folds), more)

    def link(name: str, pk: int) -> str:
        query = wanted.as_query()
        every = f"{EACH}=1&" if one_by_one else ""
        return f"{query}{'&' if query else '?'}{every}{name}={pk}"

    newer = link("before", shown[0][0].pk) if has_newer else ""
    older = link("after", shown[-1][-1].pk) if has_older else ""
    return folds, Slice([fold.entry for fold in folds], newer, older)


def in_acts(rows: Sequence[Light]) -> list[list[Light]]:
    """Neighbours that belong together, in the order of the rows; of too few each is alone."""
    acts: list[list[Light]] = []
    for row in rows:
        if acts and _goes_with(acts[-1][-1], row):
            acts[-1].append(row)
        else:
            acts.append([row])
    return [part for act in acts for part in ([act] if len(act) >= FEWEST else [[row] for row in act])]


def _goes_with(one: Light, other: Light) -> bool:
    if one.target_kind != "letter" or one[2:7] != other[2:7]:
        return False
    return (one.request_id != "" and one.request_id == other.request_id) or abs(one.at - other.at) <= TOGETHER
