"""Inserting many rows at once, without the SQL that ``bulk_create`` makes value by value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

MOST_VALUES = 60_000
"""Values in one statement: PostgreSQL's protocol counts parameters with sixteen bits."""


def insert_values(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], tail: str = "") -> None:
    """Insert rows of values that the driver takes as they are; ``tail`` follows them in the statement.

    SQLite runs one statement for each, which costs it nothing; for PostgreSQL each would be a message of its own, so it
    gets them as a copy.
    Names are ours, and quoted here. Raises what the database raises: then none is inserted.
    """
    if not rows:
        return
    quote = connection.ops.quote_name
    names = f"{quote(table)} ({', '.join(map(quote, columns))})"
    values = f"({', '.join(['%s'] * len(columns))})"
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":
            cursor.executemany(f"INSERT INTO {names} VALUES {values} {tail}", rows)  # noqa: S608 - our own names
        elif not tail:
            with connection.wrap_database_errors, cursor.copy(f"COPY {names} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            size = max(1, MOST_VALUES // len(columns))
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                statement = f"INSERT INTO {names} VALUES {', '.join([values] * len(some))} {tail}"  # noqa: S608
                cursor.execute(statement, [value for row in some for value in row])
