"""Writing many rows at once, lighter than ``bulk_create`` and ``bulk_update``, whose SQL costs more than the writing.

The intake must keep up with thousands of deaths a second on a small machine, and must not hold SQLite's only lock for
longer than it takes.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connection, models

_TEXT = (models.CharField, models.TextField)
_AS_IT_IS = (models.IntegerField, models.BooleanField, models.ForeignKey, models.AutoField)

Prepare = Callable[[Any], Any]


def insert_rows(model: type[models.Model], objects: Sequence[object]) -> None:
    """Insert those whose identity the table does not hold, and leave the others as they are.

    ``objects``: of the model, or with attributes like theirs. Raises what the database raises: then none is inserted.
    """
    fields = [field for field in model._meta.concrete_fields if not isinstance(field, models.AutoField)]
    names = ", ".join(_quoted(str(field.column)) for field in fields)
    values = ", ".join(["%s"] * len(fields))
    table = _quoted(model._meta.db_table)
    _run(
        f"INSERT INTO {table} ({names}) VALUES ({values}) ON CONFLICT DO NOTHING",  # noqa: S608 - our own names
        fields,
        objects,
    )


def update_rows(model: type[models.Model], objects: Sequence[models.Model], names: Sequence[str]) -> None:
    """Write these fields of the objects, which are locked. Raises what the database raises."""
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    key: Any = model._meta.pk
    changes = ", ".join(f"{_quoted(field.column)} = %s" for field in fields)
    table = _quoted(model._meta.db_table)
    _run(
        f"UPDATE {table} SET {changes} WHERE {_quoted(key.column)} = %s",  # noqa: S608 - our own names
        [*fields, key],
        objects,
    )


def _run(statement: str, fields: Sequence[Any], objects: Sequence[object]) -> None:
    if not objects:
        return
    prepared = [(field.attname, _preparation(field)) for field in fields]
    rows = [[prepare(getattr(each, name)) for name, prepare in prepared] for each in objects]
    with connection.cursor() as cursor:
        cursor.executemany(statement, rows)


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def _preparation(field: Any) -> Prepare:
    """How a value of this field gets into the database. What is plain goes as it is: a driver takes no enumerations."""
    if isinstance(field, _TEXT):
        return lambda value: value if type(value) is str else str(value)
    if isinstance(field, _AS_IT_IS):
        return lambda value: value
    if isinstance(field, models.DateTimeField):  # all of them aware, so nothing is to be checked or converted
        return connection.ops.adapt_datetimefield_value
    return lambda value: field.get_db_prep_save(value, connection)
