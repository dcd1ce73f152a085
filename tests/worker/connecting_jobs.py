"""Job types of a module that asks the database while it is imported: its worker has a connection before it forks."""

from __future__ import annotations

import os

from django.db import connections

from jobops import job
from tenants.models import Tenant
from tests.worker.contract_jobs import PROMISES

KNOWN = list(Tenant.objects.values_list("slug", flat=True))
OPENED, IMPORTED_BY = connections["default"], os.getpid()
CLOSED_BY: set[int] = set()


def _close() -> None:
    CLOSED_BY.add(os.getpid())
    type(OPENED).close(OPENED)


OPENED.close = _close  # type: ignore[method-assign]


@job(name="worker.compare", **PROMISES)
def compare(slug: str) -> list[bool]:
    """Saves a row. Answers whether it runs where the module was imported, whether it has that connection, and whether
    anybody but the importer closed it: over TLS that would end it for both."""
    Tenant.objects.create(slug=slug)
    return [os.getpid() == IMPORTED_BY, connections["default"] is OPENED, {IMPORTED_BY} != CLOSED_BY]
