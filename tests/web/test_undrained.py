"""UP-01: how many letters are to be drained is one number, wherever a page says it."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dlq.models import DeadLetter
from jobops.web.selectors import snapshot
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.test_letter_filters import tabs, title
from tests.web.test_letters import body
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    acme = world.tenant("acme", may_replay=True)
    for state, count in (("open", 2), ("replaying", 3), ("resolved", 1), ("discarded", 1)):
        for _ in range(count):
            world.letter(acme, state=state)
    return acme


def in_navigation(text: str) -> str:
    found = re.findall(r'<span class="cnt" data-undrained-count(?: hidden)?>([^<]+)</span>', text)
    assert len(found) == 2, "in the bar, and in the menu of a narrow screen"
    assert len(set(found)) == 1
    return found[0]


def told(fragment: str) -> str:
    found = re.findall(r'data-undrained="([^"]*)"', fragment)
    assert len(found) == 1
    return found[0]


def test_tab_title_navigation_and_overview_agree(world: World, acme: Tenant) -> None:
    """Open and replaying letters are to be drained; a page that says so of one number counts both."""
    client = world.client(Role.ON_CALL)
    text = body(client)
    assert tabs(text)["To drain"] == "5"
    assert title(text) == "5 dead letters are to be drained."
    assert in_navigation(text) == told(text) == "5"
    overview = client.get("/").content.decode()
    assert in_navigation(overview) == told(overview) == "5"
    assert re.search(r'href="/dlq/">5</a><small>to drain</small>', overview)
    assert ">5 to drain</span>" in client.get("/tenants/acme/").content.decode()
    own = world.client(Role.TENANT_VIEWER, acme)
    assert in_navigation(body(own)) == "5"
    assert title(body(own)).startswith("5 of your jobs did not work")


@pytest.mark.parametrize("query", ["", "?status=discarded", "?owner=nobody", "?q=nothing", "?overdue=1"])
def test_every_poll_brings_the_number_of_the_navigation(world: World, acme: Tenant, query: str) -> None:
    client = world.client(Role.ON_CALL)
    assert told(client.get(f"/live/dlq/{query}").content.decode()) == "5"
    DeadLetter.objects.filter(state="open").update(state="discarded")
    assert told(client.get(f"/live/dlq/{query}").content.decode()) == "3"
    assert told(client.get("/live/workers/").content.decode()) == "3"


def test_who_has_just_drained_one_reads_the_new_number(
    world: World, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also within the second that the overview keeps what it read."""
    monkeypatch.setattr(snapshot, "KEEP_S", 60.0)
    client = world.client(Role.ON_CALL)
    assert in_navigation(client.get("/").content.decode()) == "5"
    DeadLetter.objects.filter(state="open").update(state="discarded")
    assert in_navigation(body(client)) == "3"
    assert in_navigation(client.get("/workers/").content.decode()) == "3"


def test_none_is_no_number(world: World) -> None:
    world.tenant("acme")
    text = body(world.client(Role.ON_CALL))
    assert '<span class="cnt" data-undrained-count hidden>0</span>' in text
    assert title(text) == "No dead letter is to be drained."


def test_one_page_counts_once(world: World, acme: Tenant) -> None:
    client: Client = world.client(Role.ON_CALL)
    client.get("/workers/")
    for url, most in (("/workers/", 1), ("/dlq/", 1), ("/dlq/?by=one", 0)):
        with CaptureQueriesContext(connection) as queries:
            client.get(url)
        counts = [each["sql"] for each in queries if 'COUNT(*) AS "__count" FROM "dlq_deadletter"' in each["sql"]]
        assert len([sql for sql in counts if "replaying" in sql]) <= most, url
