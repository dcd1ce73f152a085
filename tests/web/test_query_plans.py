"""No page reads the letters' table from one end to the other, nor sorts what it could have read in order."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tenants.roles import Role
from tests.web.many import many
from tests.web.test_query_counts import LISTS, OWN
from tests.web.world import World

SCANS = re.compile(r"\bSCAN dlq_(deadletter|searchtext|replayrun)\b(?! USING)")
BY_INDEX, SORTS = re.compile(r"\bdlq_deadletter USING (COVERING )?INDEX"), "USE TEMP B-TREE FOR ORDER BY"
"""Letters that are named by their ids are few, and may be sorted."""


@pytest.mark.sqlite_only
@pytest.mark.parametrize(("role", "urls"), [(Role.ON_CALL, LISTS), (Role.TENANT_ADMIN, OWN)])
def test_pages_read_letters_off_their_indexes(world: World, role: Role, urls: tuple[str, ...]) -> None:
    """UP-01, UP-03"""
    acme = world.tenant("acme")
    many([acme], 300, causes=7)
    client, wrong = world.client(role, acme), set()
    for url in urls:
        with CaptureQueriesContext(connection) as queries:
            client.get(url)
        for sql in {query["sql"] for query in queries}:
            if is_wrong(plan := plan_of(sql)):
                wrong.add((url, sql, "; ".join(plan)))
    assert wrong == set()


def is_wrong(plan: list[str]) -> bool:
    sorts = SORTS in plan and any(BY_INDEX.search(step) for step in plan)
    return sorts or any(SCANS.search(step) for step in plan)


def plan_of(sql: str) -> list[str]:
    if not sql.startswith(("SELECT", "WITH")):
        return []
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql.replace('%', '%%')}", [])
        return [step for *_, step in cursor.fetchall()]
