"""UP-01, UP-03, UP-04: what a page asks of the database does not grow, neither with its rows nor with the letters."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dlq.models import BulkAction, DeadLetter, DeadLetterGroup
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.many import many
from tests.web.world import World

LISTS = (
    "/dlq/?by=cause", "/dlq/?sort=-open", "/dlq/?sort=-tenants", "/dlq/?sort=-last", "/dlq/?sort=owner",
    "/dlq/?assignee=none", "/dlq/?overdue=1", "/dlq/?by=cause&status=all", "/dlq/?tenant=acme", "/dlq/?owner=billing",
    "/dlq/?q=provider", "/dlq/?q=nothing-has-this", "/live/dlq/", "/dlq/?by=one", "/dlq/?by=one&sort=newest",
    "/dlq/?by=one&status=all", "/dlq/?by=one&overdue=1", "/dlq/?by=one&tenant=acme", "/dlq/?by=one&job=shop.jobs.job_1",
    "/dlq/?by=one&owner=billing&reason=poison", "/dlq/?by=one&severity=high", "/dlq/?by=one&assignee=none",
    "/dlq/?by=one&older_than=1h&reason=poison", "/dlq/?by=one&q=provider", "/live/dlq/?by=one", "/", "/dlq/report/",
    "/dlq/report/?period=30d&team=billing", "/dlq/replays/", "/tenants/acme/",
)  # fmt: skip
OWN = ("/dlq/", "/dlq/?q=provider", "/dlq/?overdue=1", "/dlq/?by=one", "/dlq/?by=one&status=all", "/", "/tenants/acme/")


def asked_by(clients: dict[Role, Client]) -> dict[tuple[Role, str], int]:
    """How many queries each page asks of the database, when its templates are compiled."""
    group = DeadLetterGroup.objects.order_by("pk")[0].pk
    letter = DeadLetter.objects.filter(group=group, state="open", tenant__slug="acme").order_by("pk")[0].pk
    of_one = (f"/dlq/groups/{group}/", f"/dlq/{letter}/", f"/dlq/?by=one&group={group}")
    return {
        (role, url): queries_of(client, url)
        for role, client in clients.items()
        for url in (*(LISTS if role is Role.ON_CALL else OWN), *of_one)
    }


def queries_of(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200, url
    return len(queries)


@pytest.fixture
def tenants(world: World) -> list[Tenant]:
    return [world.tenant(slug) for slug in ("acme", "globex", "initech")]


@pytest.fixture
def clients(world: World, tenants: list[Tenant]) -> dict[Role, Client]:
    return {Role.ON_CALL: world.client(Role.ON_CALL), Role.TENANT_ADMIN: world.client(Role.TENANT_ADMIN, tenants[0])}


def test_with_20_000_letters_as_with_200(tenants: list[Tenant], clients: dict[Role, Client]) -> None:
    """UP-01, UP-03"""
    many(tenants, 200, causes=8)
    few = asked_by(clients)
    many(tenants, 19_800, causes=8)
    grown = {place: (few[place], now) for place, now in asked_by(clients).items() if now > few[place]}
    assert grown == {}
    assert max(few.values()) < 45


def test_with_50_rows_as_with_10(tenants: list[Tenant], clients: dict[Role, Client]) -> None:
    """UP-04"""
    many(tenants, 10 * 5, causes=10)
    few = asked_by(clients)
    many(tenants, 60 * 5, causes=60)
    assert DeadLetterGroup.objects.filter(due_at__isnull=False).count() == 60
    grown = {place: (few[place], now) for place, now in asked_by(clients).items() if now > few[place]}
    assert grown == {}


def test_a_preview_asks_no_more_of_thousands(tenants: list[Tenant], clients: dict[Role, Client]) -> None:
    client, counts = clients[Role.ON_CALL], []
    for letters in (50, 5_000):
        many(tenants, letters, causes=1)
        group = DeadLetterGroup.objects.get()
        with CaptureQueriesContext(connection) as queries:
            answer = client.post("/dlq/groups/act/", {"do": "replay", "ids": [group.pk], "query": ""}, follow=True)
        assert answer.status_code == 200
        bulk = BulkAction.objects.latest("pk")
        assert (bulk.matched, bulk.plan.group_id) == (group.undrained, group.pk)
        counts.append(len(queries))
    assert counts[1] <= counts[0]


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_ADMIN])
def test_one_number_wherever_a_page_says_it(
    world: World, tenants: list[Tenant], clients: dict[Role, Client], role: Role
) -> None:
    """UP-01: of letters in causes, whose counts are kept, and of some that are in none yet."""
    many(tenants, 300, causes=7)
    for tenant in tenants:
        world.letter(tenant)
    client = clients[role]
    left = DeadLetter.objects.filter(state__in=("open", "replaying"))
    expected = left.count() if role is Role.ON_CALL else left.filter(tenant=tenants[0]).count()
    told = set()
    for url in ("/", "/dlq/", "/dlq/?by=one", "/dlq/?by=one&status=resolved", "/dlq/?sort=-open", "/batches/"):
        text = client.get(url).content.decode()
        told |= set(re.findall(r'<span class="cnt" data-undrained-count(?: hidden)?>([^<]+)</span>', text))
    assert told == {str(expected)}
    assert f"<h1>{expected} " in client.get("/dlq/").content.decode()
    assert f"<h1>{expected} " in client.get("/dlq/?by=one").content.decode()
    home = client.get("/").content.decode()
    assert f'href="/dlq/">{expected}</a>' in home
    assert User.objects.count() == 2
