"""``IN`` for many whole numbers. Django's own prepares each value by itself, which costs more than the query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import BooleanField, F, Func


class Among(Func):
    """Whether the field is one of these ids, as a condition of ``filter``. The ids are written into the statement."""

    output_field = BooleanField()
    conditional = True

    def __init__(self, name: str, ids: Iterable[int]) -> None:
        super().__init__(F(name))
        self.ids = ", ".join(map(str, sorted(map(int, ids)))) or "NULL"

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **context: Any) -> Any:
        """The condition; of no ids, one that is never true."""
        sql, params = compiler.compile(self.get_source_expressions()[0])
        return f"{sql} IN ({self.ids})", params
