"""Keeps the statistics fresh from which PostgreSQL plans its queries.

Its autovacuum looks once a minute. A night's burst makes twenty thousand dead letters of two hundred in less, and until
then every page is planned for two hundred: what takes 20 ms takes 20 s, in the very minute in which the on-call looks.
SQLite plans without them.
"""

from __future__ import annotations

from django.apps import apps
from django.db import OperationalError, connection, transaction

from jobops.scheduling.duties import Context

APPS = ("dlq", "jobops", "tenants")
FEW = 1_000
SHARE = 0.5
"""A table is looked at anew when more than ``FEW`` rows, and this share of all, have changed since. So a table that
grows without an end is looked at once for each half that it grows by; the rest is autovacuum's."""

_STALE = """
    SELECT relname FROM pg_stat_user_tables
    WHERE relname = ANY(%s) AND pg_table_is_visible(relid) AND n_mod_since_analyze > %s + %s * n_live_tup
    ORDER BY relname
"""


def run(context: Context) -> int:
    """Gather those of each table that has changed a lot; answers of how many. Raises ``django.db.Error``."""
    if connection.vendor != "postgresql":
        return 0
    tables = [model._meta.db_table for model in apps.get_models() if model._meta.app_label in APPS]
    with connection.cursor() as cursor:
        cursor.execute(_STALE, [tables, FEW, SHARE])
        stale = [name for (name,) in cursor.fetchall()]
    return sum(_gather(name) for name in stale)


def _gather(table: str) -> bool:
    """False: somebody else is at it, or changes the table's form."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Whoever waits for its lock keeps all waiting who come after.
            cursor.execute("SET LOCAL lock_timeout = '50ms'")
            cursor.execute(f"ANALYZE {connection.ops.quote_name(table)}")
    except OperationalError:
        return False
    return True
