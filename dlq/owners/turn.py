"""Who decides and who changes what is decided by, one after the other.

A letter that is decided by rules that are replaced before it is stored would be missed by the change, which goes over
what is stored. So the intake decides while no rule and no group's hand changes, and whoever changes them waits until
those who decided have committed. Groups of many writers share their turn.
"""

from __future__ import annotations

from django.db import connection

_LOCK = 4_117_902_651
"""The number of PostgreSQL's advisory lock. SQLite begins each transaction as the only writer."""


def while_deciding() -> None:
    """Until the transaction ends, nobody changes what owners are decided by. Others may decide too."""
    _take("pg_advisory_xact_lock_shared")


def while_changing() -> None:
    """Until the transaction ends, nobody decides. First of all locks in a transaction, which must be short."""
    _take("pg_advisory_xact_lock")


def _take(function: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [_LOCK])
