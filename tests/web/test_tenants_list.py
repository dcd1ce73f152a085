"""The list of tenants, ``/tenants/``."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tenants.roles import Role
from tests.web.world import World


def slugs(client: Client, query: str = "") -> list[str]:
    answer = client.get(f"/tenants/{query}")
    assert answer.status_code == 200
    return re.findall(r'<tr id="t-([\w-]+)"', answer.content.decode())


def link(client: Client, rel: str, query: str = "") -> str:
    found = re.search(rf'rel="{rel}" href="([^"]+)"', client.get(f"/tenants/{query}").content.decode())
    return found[1].replace("&amp;", "&") if found else ""


def test_tenants_page_by_cursor_both_ways(world: World) -> None:
    for index in range(120):
        world.tenant(f"t-{index:03}")
    client = world.client(Role.STAFF_VIEWER)
    first = slugs(client)
    assert (first[0], first[-1], len(first)) == ("t-000", "t-049", 50)
    assert link(client, "prev") == ""
    second = link(client, "next")
    assert slugs(client, second)[0] == "t-050"
    third = link(client, "next", second)
    assert slugs(client, third) == [f"t-{index:03}" for index in range(100, 120)]
    assert link(client, "next", third) == ""
    back = link(client, "prev", third)
    assert slugs(client, back) == slugs(client, second)
    assert slugs(client, link(client, "prev", back)) == first


def test_a_search_matches_slug_and_name_and_its_pages_keep_it(world: World) -> None:
    for index in range(60):
        world.tenant(f"acme-{index:02}")
    world.tenant("bluefin")
    client = world.client(Role.STAFF_VIEWER)
    assert slugs(client, "?find=BLUE") == ["bluefin"]
    assert "find=acme" in link(client, "next", "?find=acme")
    assert slugs(client, "?find=nobody") == []


@pytest.mark.parametrize(
    "query",
    [
        "?after=%00",
        "?before=%00",
        "?after=" + "x" * 5000,
        "?after=zzz&before=aaa",
        "?after=a&after=b",
        "?page=0",
        "?page=-1",
        "?page=1e30",
        "?per_page=0",
        "?per_page=-5",
        "?per_page=1000000",
        "?sort=password",
        "?sort=tenant__secret",
        "?find=%00%1b",
        "?find=" + "y" * 5000,
        "?before=%F0%9F%92%A5",
    ],
)
def test_odd_parameters_are_passed_over(world: World, query: str) -> None:
    """HX-07, HX-08."""
    for index in range(120):
        world.tenant(f"t-{index:03}")
    client = world.client(Role.STAFF_VIEWER)
    assert len(slugs(client, query)) <= 50
    assert client.get(f"/{query}").status_code == 200
    assert client.get(f"/live/overview/{query}").status_code == 200


def test_a_member_lists_their_own_only(world: World) -> None:
    acme, _ = world.tenant("acme"), world.tenant("rival")
    client = world.client(Role.TENANT_VIEWER, acme)
    assert slugs(client) == ["acme"]
    assert slugs(client, "?find=rival") == []
    assert slugs(client, "?before=zzz") == ["acme"]


def test_a_tenants_people_read_plain_words(world: World) -> None:
    acme = world.tenant("acme", cap=4, depth_limit=900)
    world.letter(acme)
    text = world.client(Role.TENANT_ADMIN, acme).get("/tenants/").content.decode()
    main = text[text.index("<main") :]
    for hidden in ("Weight", "cap", "Depth", "Dead letter", "900", "Ended"):
        assert hidden not in main, hidden
    headings = re.findall(r'<th scope="col"[^>]*>([^<]+)</th>', main)
    assert headings == ["Tenant", "State", "Running", "Waiting", "Did not work"]
    assert '<span class="of"> of 4</span>' in main
    assert 'href="/dlq/?tenant=acme"' in main


def test_queries_do_not_grow_with_the_rows(world: World) -> None:
    """UP-04."""
    client = world.client(Role.STAFF_VIEWER)
    slugs(client)
    counts = []
    for start, end in ((0, 2), (2, 50)):
        for index in range(start, end):
            world.letter(world.tenant(f"t-{index:03}"))
        with CaptureQueriesContext(connection) as queries:
            slugs(client)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 18
