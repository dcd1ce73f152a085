"""How a test with real commits leaves the database: as Django's flush leaves it, at a tenth of the cost.

The flush truncates every table and has content types, permissions and groups made anew. Here only tables with rows are
emptied, and what a flush leaves behind stays where it is as long as no test has changed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.utils import DatabaseError
from django.test import TransactionTestCase

Rows = list[tuple[Any, ...]]


class Emptied:
    """What stands in the tables after a flush: the flush of this process that ended last, on its only database."""

    def __init__(self) -> None:
        self.rows: dict[str, Rows] | None = None

    def again(self, flush: Any) -> None:
        """Leave the database as `flush` does; call that only where something it would write anew was touched."""
        if self.rows is not None and self._only_the_rest(self.rows):
            return
        flush()
        self.rows = {table: _rows(table) for table in _with_rows(_tables())}

    def _only_the_rest(self, left: dict[str, Rows]) -> bool:
        """Empty the tables that a flush leaves empty. False when the others are not as it leaves them."""
        tables = _tables()
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    # As truncating does: waits for whoever still writes, so that no row comes in behind us.
                    _run(f"LOCK TABLE {', '.join(map(_name, tables))} IN SHARE ROW EXCLUSIVE MODE")
                if any(_rows(table) != rows for table, rows in left.items()):
                    return False
                for table in _with_rows([table for table in tables if table not in left]):
                    _run(f"DELETE FROM {_name(table)}")
        except DatabaseError:  # a table is missing, a row is locked: the flush says what is wrong, if anything is
            return False
        return True


def _tables() -> list[str]:
    """Of all models, whether they exist or not."""
    return sorted(connection.introspection.django_table_names(include_views=False))


def _with_rows(tables: list[str]) -> list[str]:
    asked = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {_name(table)})" for table in tables)
    return [table for (table,) in _answers(" UNION ALL ".join(asked))]


def _rows(table: str) -> Rows:
    return sorted(_answers(f"SELECT * FROM {_name(table)}"), key=repr)


def _name(table: str) -> str:
    return connection.ops.quote_name(table)


def _run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _answers(query: str) -> Rows:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


@contextmanager
def tables_emptied_cheaply() -> Iterator[None]:
    """Within it, this is how transactional tests end."""
    emptied, slowly = Emptied(), TransactionTestCase._fixture_teardown

    def teardown(case: TransactionTestCase) -> None:
        emptied.again(lambda: slowly(case))

    TransactionTestCase._fixture_teardown = teardown  # type: ignore[method-assign]
    try:
        yield
    finally:
        TransactionTestCase._fixture_teardown = slowly  # type: ignore[method-assign]
