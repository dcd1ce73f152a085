"""Adding to the rows beside a group: the shares of its tenants, and its five minutes.

By statements of our own: the rows are added to where they are there, and the intake writes hundreds of them at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import connection, models
from django.utils import timezone

from dlq.causes.tally import Delta
from dlq.models import GroupSpan, GroupTenant
from dlq.rows import quoted

COUNTS = ("open", "replaying", "resolved", "discarded", "purged", "deaths")
_MOST_PAIRS = 400
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def existing(pairs: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """Those of these (group id, tenant id) that have a row."""
    found: set[tuple[int, int]] = set()
    ordered = sorted(pairs)
    table = quoted(GroupTenant._meta.db_table)
    with connection.cursor() as cursor:
        for begin in range(0, len(ordered), _MOST_PAIRS):
            part = ordered[begin : begin + _MOST_PAIRS]
            values = ", ".join(["(%s, %s)"] * len(part))
            cursor.execute(
                f"SELECT group_id, tenant_id FROM {table} WHERE (group_id, tenant_id) IN (VALUES {values})",  # noqa: S608
                [number for pair in part for number in pair],
            )
            found.update(cursor.fetchall())
    return found


def add_shares(deltas: Mapping[tuple[int, int], Delta], there: Collection[tuple[int, int]]) -> None:
    """Add to the shares that are ``there``, and make the others. Their groups must be locked."""
    rows, now = [], timezone.now()
    for place, delta in sorted(deltas.items(), key=lambda item: item[0]):
        # Nothing of it died: the times that are there stay.
        first, last = (_LATEST, _EARLIEST) if place in there else (now, now)
        counts = [delta.counts[name] for name in COUNTS]
        rows.append([*place, *counts, _instant(delta.first or first), _instant(delta.last or last)])
    least, most = ("LEAST", "GREATEST") if connection.vendor == "postgresql" else ("MIN", "MAX")
    times = {"first_seen_at": least, "last_seen_at": most}
    _add(GroupTenant, ("group_id", "tenant_id"), COUNTS, rows, times)


def add_spans(deltas: Mapping[tuple[int, datetime], Counter[str]]) -> None:
    """Add to the groups' five minutes, and make those that are not there. Their groups must be locked."""
    rows = [
        [group_id, _instant(at), counts["deaths"], counts["drained"]]
        for (group_id, at), counts in sorted(deltas.items(), key=lambda item: item[0])
    ]
    _add(GroupSpan, ("group_id", "at"), ("deaths", "drained"), rows, {})


def _add(
    model: type[models.Model],
    key: Sequence[str],
    added: Sequence[str],
    rows: Sequence[Sequence[Any]],
    chosen: Mapping[str, str],
) -> None:
    """``added``: columns that are summed up; ``chosen``: columns of which a function keeps one of the two values."""
    if not rows:
        return
    table = quoted(model._meta.db_table)
    columns = [*key, *added, *chosen]
    changes = [f"{quoted(name)} = {table}.{quoted(name)} + excluded.{quoted(name)}" for name in added]
    changes += [
        f"{quoted(name)} = {keep}({table}.{quoted(name)}, excluded.{quoted(name)})" for name, keep in chosen.items()
    ]
    statement = (
        f"INSERT INTO {table} ({', '.join(map(quoted, columns))}) "  # noqa: S608 - our own names
        f"VALUES ({', '.join(['%s'] * len(columns))}) "
        f"ON CONFLICT ({', '.join(map(quoted, key))}) DO UPDATE SET {', '.join(changes)}"
    )
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)


def _instant(at: datetime | None) -> Any:
    return connection.ops.adapt_datetimefield_value(at)
