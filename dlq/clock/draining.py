"""What is noted of a letter's clock when it is drained, whoever drains it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypedDict

from django.db.models import Case, DateTimeField, DurationField, ExpressionWrapper, F, Func, IntegerField, Value, When
from django.db.models.functions import Greatest, Least

from dlq.models import DeadLetter

LONGEST_S = 2**31 - 1
"""What the column holds; an instant of a clock far off must not keep a letter from being drained."""


class Marks(TypedDict):
    """The fields that draining writes."""

    drained_at: datetime | None
    drain_s: int | None


NOT_DRAINED: Marks = {"drained_at": None, "drain_s": None}
"""What they are again when a letter is opened."""


def marks(letter: DeadLetter, at: datetime) -> Marks:
    """What to write of a letter that is drained at this instant: when, and how many whole seconds its clock showed.

    Pauses are left out; drained in one, its clock shows what it did when that began.
    """
    until = letter.clock_paused_until
    stops_at = max(at, until) if until is not None else at
    shown = stops_at - letter.dead_at - timedelta(seconds=letter.clock_paused_s)
    return {"drained_at": at, "drain_s": max(0, min(shown // timedelta(seconds=1), LONGEST_S))}


def drain_seconds(at: datetime) -> Case | Greatest:
    """The ``drain_s`` of ``marks`` as the database reckons it, for many letters in one statement."""
    instant = Value(at, DateTimeField())
    stops_at = Case(When(clock_paused_until__gt=at, then=F("clock_paused_until")), default=instant)
    shown = ExpressionWrapper(stops_at - F("dead_at"), output_field=DurationField())
    seconds = _WholeSeconds(shown) - F("clock_paused_s")
    return Greatest(Value(0), Least(seconds, Value(LONGEST_S)))


class _WholeSeconds(Func):
    """A span in whole seconds, rounded down."""

    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # Spans are microseconds there, and a division of whole numbers cuts the rest off.
        return super().as_sql(compiler, connection, template="(%(expressions)s / 1000000)", **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "FLOOR(EXTRACT(EPOCH FROM %(expressions)s))::bigint"
        return super().as_sql(compiler, connection, template=template, **context)
