"""One at a time: whoever carries a pause or a limit to Redis reads the row and writes to Redis in one turn.

Without it two could cross: one reads "no pause", another pauses and tells its person so, and the first one resumes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

_LOCK = 0x6A6F6C69
"""The number of PostgreSQL's advisory lock. SQLite begins each transaction as the only writer."""


@contextmanager
def turn() -> Iterator[None]:
    """A transaction that no other turn overlaps, in any process."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        yield
