"""Counting no further than people read: behind so many, "and more" says enough, and no index is read to its end."""

from __future__ import annotations

from typing import Any

from django.db.models import IntegerField, QuerySet, Subquery


class AtLeast(int):
    """A number at which counting stopped: there are more. Written as ``10,000+``."""

    def __format__(self, spec: str) -> str:
        return f"{int(self):{spec}}+"


def count_up_to(rows: QuerySet[Any], most: int) -> int:
    """How many rows; ``AtLeast(most)`` if there are more. Reads ``most`` + 1 of them."""
    return told(rows.order_by().values("pk")[: most + 1].count(), most)


def told(count: int, most: int) -> int:
    """What was counted up to ``most`` + 1."""
    return AtLeast(most) if count > most else count


class CountUpTo(Subquery):
    """In a query: how many rows a correlated queryset has, counted up to ``most`` + 1. See ``told``."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()

    def __init__(self, rows: QuerySet[Any], most: int) -> None:
        super().__init__(rows.order_by().values("pk")[: most + 1])
