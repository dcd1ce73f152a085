"""After a burst of deaths PostgreSQL plans for what is there now, and not for what was there a minute ago."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection, connections

from dlq.models import DeadLetter
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward import statistics
from jobops.steward.duties import duties
from tenants.models import Tenant
from tests.tools import wait_for
from tests.web.many import MANY, many

LETTERS = 3_000
TABLE = DeadLetter._meta.db_table
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres_only]


def planned_for() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [TABLE])
        return int(cursor.fetchone()[0])


def changed() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT n_mod_since_analyze FROM pg_stat_user_tables WHERE relid = %s::regclass", [TABLE])
        return int(cursor.fetchone()[0])


@pytest.fixture
def burst() -> Iterator[None]:
    with connection.cursor() as cursor:
        # Or the database might be faster.
        cursor.execute(f"ALTER TABLE {TABLE} SET (autovacuum_enabled = off)")
    acme = Tenant.objects.create(slug="acme", name="Acme")
    for _ in range(LETTERS // MANY):  # so few at once that they are not analyzed there
        many([acme], MANY, causes=2)
    # What a connection has changed is counted soon after it ends, and now and then before.
    connections.close_all()
    wait_for(lambda: changed() >= LETTERS, what="the changes are counted")
    yield
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {TABLE} RESET (autovacuum_enabled)")


def test_a_burst_is_planned_for(burst: None, engine: Engine) -> None:
    assert [duty.run for duty in duties() if duty.name == "statistics"] == [statistics.run]
    statistics.run(Context(engine))
    assert planned_for() == LETTERS
    assert statistics.run(Context(engine)) == 0, "nothing has changed since"


def test_it_does_not_wait_where_a_table_is_worked_on(burst: None, engine: Engine) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"LOCK TABLE {TABLE} IN SHARE UPDATE EXCLUSIVE MODE")
        statistics.run(Context(engine))
        assert changed() >= LETTERS
    finally:
        other.close()
    wait_for(lambda: statistics.run(Context(engine)), what="the lock is gone")
    assert (changed(), planned_for()) == (0, LETTERS)
