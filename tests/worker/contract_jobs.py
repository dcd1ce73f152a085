"""Job types with contracts, for workers that the tests start."""

from __future__ import annotations

import os
import time

from django.db import connection, transaction

from jobops import current_job, job
from tenants.models import Tenant

PROMISES = {"owner": "tests", "drain_sla": "1h", "idempotent": "changes nothing", "timeout": "30s", "max_attempts": 2}


@job(name="worker.double", **PROMISES)
def double(number: int) -> int:
    return number * 2


@job(name="worker.nap", **PROMISES)
def nap(seconds: float) -> None:
    time.sleep(seconds)


@job(name="worker.nap_at_first", **PROMISES)
def nap_at_first(seconds: float) -> None:
    time.sleep(seconds if current_job().attempt == 1 else 0)


@job(name="worker.count_tenants", **PROMISES)
def count_tenants() -> int:
    return Tenant.objects.count()


@job(name="worker.connection", **PROMISES)
def describe_connection() -> list[int]:
    """Which process it runs in, and which connection it has: the server's process on PostgreSQL."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_backend_pid()")
            return [os.getpid(), int(cursor.fetchone()[0])]
        cursor.execute("SELECT 1")
        return [os.getpid(), id(connection.connection)]


@job(name="worker.leave_transaction", **PROMISES)
def leave_transaction() -> None:
    """Ends in the middle of a transaction that it never closes."""
    transaction.atomic().__enter__()
    Tenant.objects.create(slug="left-open")
