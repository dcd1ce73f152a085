"""Which values a column of the letters holds, without reading the letters."""

from collections.abc import Iterable

from django.db import connection

from dlq.models import DeadLetter, State

INDEXED = ("job_type", "owner", "error_class", "reason")
"""Columns with an index that begins with the state and this column."""


def values_in(column: str, states: Iterable[State], most: int) -> list[str]:
    """The values that occur in letters of these states, sorted; ``most`` of them at most, and no blank one.

    One short look-up for each value, from the index: a ``DISTINCT`` would read all of it. Of all letters: the caller
    knows that whoever asks may see them. Raises ``ValueError`` for a column without an index.
    """
    if column not in INDEXED:
        raise ValueError(f"{column} is not one of {', '.join(INDEXED)}")
    found: set[str] = set()
    for state in states:
        found.update(_walk(column, state, most))
    return sorted(found)[:most]


def _walk(column: str, state: State, most: int) -> list[str]:
    quote = connection.ops.quote_name
    table, name = quote(DeadLetter._meta.db_table), quote(column)
    # Nothing in it comes from outside: the column is one of ours.
    least = f"SELECT MIN({name}) FROM {table} WHERE {quote('state')} = %s AND {name} > "  # noqa: S608
    sql = (
        f"WITH RECURSIVE walk(value) AS (SELECT ({least} %s) "  # noqa: S608
        f"UNION ALL SELECT ({least} walk.value) FROM walk WHERE walk.value IS NOT NULL) "
        "SELECT value FROM walk WHERE value IS NOT NULL LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [state.value, "", state.value, most])
        return [value for (value,) in cursor.fetchall()]
