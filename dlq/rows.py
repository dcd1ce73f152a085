"""Writing many rows at once, lighter than ``bulk_create`` and ``bulk_update``, whose SQL costs more than the writing.

The intake must keep up with thousands of deaths a second on a small machine, and must not hold SQLite's only lock for
longer than it takes.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from django.db import connection, models

from jobops.audit.inserting import insert_values

_TEXT = (models.CharField, models.TextField)
_AS_IT_IS = (models.IntegerField, models.BooleanField, models.ForeignKey, models.AutoField)

Prepare = Callable[[Any], Any]

# Of a letter's width: below the parameters that SQLite takes in one statement.
_ROWS_AT_ONCE = 100


def insert_rows(model: type[models.Model], objects: Sequence[object], *, skip_known: bool = True) -> None:
    """Insert those whose identity the table does not hold, and leave the others as they are.

    ``objects``: of the model, or with attributes like theirs. ``skip_known=False``: one that is there is an error.
    Raises what the database raises: then none is inserted.
    """
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    columns = [str(field.column) for field in fields]
    known = "ON CONFLICT DO NOTHING" if skip_known else ""
    insert_values(model._meta.db_table, columns, _prepared(fields, objects), known)


def insert_new(model: type[models.Model], objects: Sequence[object], answers: Sequence[str]) -> list[tuple[Any, ...]]:
    """As ``insert_rows``; answers these columns of each row that was really inserted, and not there before.

    Only the statement itself can tell: of two who insert the same rows at once, each would find them all there.
    """
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    names = ", ".join(quoted(str(field.column)) for field in fields)
    answer = ", ".join(quoted(name) for name in answers)
    row = f"({', '.join(['%s'] * len(fields))})"
    rows = _prepared(fields, objects)
    inserted: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            part = rows[begin : begin + _ROWS_AT_ONCE]
            cursor.execute(
                f"INSERT INTO {quoted(model._meta.db_table)} ({names}) VALUES {', '.join([row] * len(part))} "  # noqa: S608 - our own names
                f"ON CONFLICT DO NOTHING RETURNING {answer}",
                [value for each in part for value in each],
            )
            inserted += cursor.fetchall()
    return inserted


def update_rows(model: type[models.Model], objects: Sequence[models.Model], names: Sequence[str]) -> None:
    """Write these fields of the objects, which are locked. Raises what the database raises."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    key: Any = model._meta.pk
    changes = ", ".join(f"{quoted(field.column)} = %s" for field in fields)
    table = quoted(model._meta.db_table)
    _run(
        f"UPDATE {table} SET {changes} WHERE {quoted(key.column)} = %s",  # noqa: S608 - our own names
        [*fields, key],
        objects,
    )


def _run(statement: str, fields: Sequence[Any], objects: Sequence[object]) -> None:
    if not objects:
        return
    with connection.cursor() as cursor:
        cursor.executemany(statement, _prepared(fields, objects))


def _prepared(fields: Sequence[Any], objects: Sequence[object]) -> list[list[Any]]:
    names, prepares = [field.attname for field in fields], [_preparation(field) for field in fields]
    # Its own name once more, as of one alone it would answer no tuple.
    read = attrgetter(*names, names[0])
    # What is plain goes without a call: of a letter that is most of it.
    return [
        [
            value if prepare is None or (prepare is str and type(value) is str) else prepare(value)
            for value, prepare in zip(read(each), prepares, strict=False)
        ]
        for each in objects
    ]


def quoted(name: str) -> str:
    """The name of a table or a column as SQL has it."""
    return connection.ops.quote_name(name)


def _preparation(field: Any) -> Prepare | None:
    """How a value of this field gets into the database; None: as it is. A driver takes no enumerations as text."""
    if isinstance(field, _TEXT):
        return str
    if isinstance(field, _AS_IT_IS):
        return None
    if isinstance(field, models.DateTimeField):  # all of them aware, so nothing is to be checked or converted
        return connection.ops.adapt_datetimefield_value
    return lambda value: field.get_db_prep_save(value, connection)
