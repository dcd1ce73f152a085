"""Writing a million rows in minutes: as columns of values, past the models, the indexes made afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.db.models import Model

BATCH = 5_000


class Table:
    """A model's table, to be filled with rows of these fields; the others are as a new object of it has them."""

    def __init__(self, model: type[Model], fields: Sequence[str]) -> None:
        from django.db import connection
        from django.db.models import DateTimeField

        self.model, self.connection = model, connection
        known = [model._meta.get_field(name) for name in fields]
        like = model()
        others = [f for f in model._meta.concrete_fields if f not in known and not f.primary_key]
        self.rest = tuple(f.get_db_prep_save(f.pre_save(like, add=True), connection) for f in others)
        self.columns = [f.column for f in (*known, *others)]
        self.instants = [place for place, f in enumerate(known) if isinstance(f, DateTimeField)]

    def write(self, rows: Iterable[tuple[Any, ...]]) -> int:
        """Add these rows, a transaction for each few thousand; answers how many."""
        from django.db import transaction

        rows, count = iter(rows), 0
        write = self._copy if self.connection.vendor == "postgresql" else self._insert
        while batch := list(islice(rows, BATCH)):
            with transaction.atomic():
                write(batch)
            count += len(batch)
        return count

    def _copy(self, rows: list[tuple[Any, ...]]) -> None:
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {self._names()} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row + self.rest)

    def _insert(self, rows: list[tuple[Any, ...]]) -> None:
        adapt = self.connection.ops.adapt_datetimefield_value
        marks = ", ".join(["%s"] * len(self.columns))
        values = []
        for row in rows:
            changed = list(row)
            for place in self.instants:
                if changed[place] is not None:
                    changed[place] = adapt(changed[place])
            values.append((*changed, *self.rest))
        with self.connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {self._names()} VALUES ({marks})", values)

    def _names(self) -> str:
        quote = self.connection.ops.quote_name
        return f"{quote(self.model._meta.db_table)} ({', '.join(map(quote, self.columns))})"


@contextmanager
def indexed_afterwards(*models: type[Model]) -> Iterator[None]:
    """Without their indexes meanwhile, and with up-to-date sequences and statistics afterwards."""
    from django.core.management.color import no_style
    from django.db import connection

    with connection.schema_editor() as editor:
        for model in models:
            for index in model._meta.indexes:
                editor.remove_index(model, index)
    yield
    with connection.schema_editor() as editor:
        for model in models:
            for index in model._meta.indexes:
                editor.add_index(model, index)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
            cursor.execute(statement)
        if connection.vendor == "postgresql":
            # Its autovacuum would do so by itself; SQLite is measured as it comes, without.
            cursor.execute("VACUUM ANALYZE")
