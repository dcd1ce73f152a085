"""PX-05: a list costs what its rows show, not what its jobs carry."""

from __future__ import annotations

import json
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlq.models import SearchText
from dlq.searchable import search_text
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import TYPE, draft
from tests.web.world import World

LINES = "\n".join(f"line {number}" for number in range(5_000))
MB3 = json.dumps({"args": [], "kwargs": {"number": 1, "lines": LINES, "text": "y" * 3_000_000}})
PAYLOADS = '"dlq_deadletter"."payload",'
"""Stands in a query that reads them whole."""
MOST_BYTES, MOST_SECONDS = 300_000, 1.0


@pytest.fixture
def heavy(world: World, acme: Tenant) -> list[int]:
    """25 letters of 3 MB each, with the longest errors and tracebacks that are kept."""
    letters = [
        world.letter(acme, job_type=TYPE, payload=MB3, error="e" * 4_096, traceback="t" * 65_536) for _ in range(25)
    ]
    SearchText.objects.bulk_create(SearchText(letter=letter, text=search_text(letter)) for letter in letters)
    return [letter.pk for letter in letters]


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
@pytest.mark.parametrize(
    "path", ["/dlq/?by=one", "/dlq/?by=one&q=line", "/dlq/?by=one&job=tests.web.send_invoice", "/tenants/acme/", "/"]
)
def test_a_page_of_letters_of_three_megabytes_is_small_and_quick(
    world: World, acme: Tenant, heavy: list[int], role: Role, path: str
) -> None:
    """PX-05"""
    client = world.client(role, acme if role is Role.TENANT_ADMIN else None)
    client.get(path)  # templates are compiled
    began = time.process_time()
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(path, follow=True)
    assert time.process_time() - began < MOST_SECONDS
    assert answer.status_code == 200
    assert len(answer.content) < MOST_BYTES
    assert [query["sql"] for query in asked.captured_queries if PAYLOADS in query["sql"]] == []
    if path.startswith("/dlq/"):
        assert answer.content.decode().count("/dlq/") > len(heavy)


def test_the_preview_of_a_bulk_action_on_them_is_small_and_quick(world: World, acme: Tenant, heavy: list[int]) -> None:
    """PX-05: it holds every letter's arguments against the contract, and shows none of them."""
    client = world.client(Role.ON_CALL)
    bulk = draft(client, "replay", heavy)
    client.get(f"/dlq/replays/{bulk.pk}/")
    began = time.process_time()
    with CaptureQueriesContext(connection) as asked:
        answer = client.get(f"/dlq/replays/{bulk.pk}/")
    assert (answer.status_code, len(asked) < 40) == (200, True)
    assert len(answer.content) < MOST_BYTES
    assert time.process_time() - began < 10 * MOST_SECONDS, "75 MB of JSON are parsed"


def test_a_page_of_waiting_jobs_with_the_largest_arguments_is_small_and_quick(world: World, acme: Tenant) -> None:
    """PX-05"""
    for _ in range(25):
        world.enqueue("acme", arguments={"number": 1, "text": "z" * 200_000, "lines": list(range(5_000))})
    client = world.client(Role.ON_CALL)
    client.get("/tenants/acme/")
    began = time.process_time()
    answer = client.get("/tenants/acme/")
    assert time.process_time() - began < MOST_SECONDS
    assert (answer.status_code, len(answer.content) < MOST_BYTES) == (200, True)
    assert "zzzz" * 100 not in answer.content.decode()
