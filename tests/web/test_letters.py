"""The list of dead letters, ``/dlq/``."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from redis.exceptions import ConnectionError as RedisConnectionError

from dlq.models import DeadLetter
from jobops.contracts.decorator import job as contract
from jobops.contracts.registry import temporary_registry
from jobops.web import words
from tenants.roles import Role
from tests.web.world import World


def body(client: Client, query: str = "") -> str:
    """The list one by one; by cause it is in ``test_groups``."""
    answer = client.get(f"/dlq/?by=one&{query.removeprefix('?')}")
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def ids(text: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'<tr id="d-(\d+)"', text)]


def test_open_and_replaying_letters_of_all_tenants_stand_due_first(world: World) -> None:
    acme, rival = world.tenant("acme"), world.tenant("rival")
    now = timezone.now()
    late = world.letter(rival, due_at=now - timedelta(minutes=33), owner="payments", error="no such invoice")
    soon = world.letter(acme, due_at=now + timedelta(minutes=40), state="replaying")
    later = world.letter(acme, due_at=now + timedelta(hours=5))
    for state in ("resolved", "discarded"):
        world.letter(acme, state=state)
    text = body(world.client(Role.ON_CALL))
    assert ids(text) == [late.pk, soon.pk, later.pk]
    assert "<h1>3 dead letters are to be drained; 1 is past its deadline.</h1>" in text
    row = text[text.index(f'<tr id="d-{late.pk}"') :].partition("</tr>")[0]
    for shown in (
        "33\N{NO-BREAK SPACE}min late",
        "shop.<wbr>jobs.<wbr>send",
        "no such invoice",
        "ConnectionError",
        "payments",
    ):
        assert shown in row
    assert f'href="/dlq/{late.pk}/"' in row
    assert 'href="/tenants/rival/"' in row
    assert re.search(r">3<span class=\"of\"> / 3<", row)


def test_it_is_reached_from_the_navigation_the_overview_and_the_tenants_page(world: World) -> None:
    acme = world.tenant("acme")
    world.letter(acme)
    client = world.client(Role.ON_CALL)
    overview = client.get("/").content.decode()
    assert 'href="/dlq/">Dead letters<span class="cnt" data-undrained-count>1</span></a>' in overview
    assert overview.count('<a class="q" href="/dlq/">') == 2
    assert 'href="/dlq/?tenant=acme"' in client.get("/tenants/acme/").content.decode()
    own = world.client(Role.TENANT_VIEWER, acme).get("/").content.decode()
    assert 'href="/dlq/">Did not work<span class="cnt" data-undrained-count>1</span></a>' in own


def test_one_tenants_letters_are_shown_on_demand(world: World) -> None:
    acme, rival = world.tenant("acme"), world.tenant("rival")
    mine = world.letter(acme)
    world.letter(rival)
    text = body(world.client(Role.OPERATOR), "?tenant=acme")
    assert ids(text) == [mine.pk]
    assert "<h1>1 dead letter of acme is to be drained.</h1>" in text
    member = world.client(Role.TENANT_ADMIN, acme)
    foreign, missing = member.get("/dlq/?tenant=rival"), member.get("/dlq/?tenant=nobody")
    assert foreign.status_code == missing.status_code == 404
    assert ids(body(world.client(Role.OPERATOR), "?tenant=nobody")) == []


@pytest.fixture
def send() -> Iterator[None]:
    with temporary_registry():

        @contract(name="shop.jobs.send_invoice", owner="billing", drain_sla="4h", idempotent="yes", redact=["card"])
        def send(number: int, card: str = "") -> None: ...

        yield


def test_a_tenants_people_see_their_own_masked_and_in_plain_words(world: World, send: None) -> None:
    """SE-05, SE-06."""
    acme, rival = world.tenant("acme"), world.tenant("rival")
    payload = '{"args": [], "kwargs": {"number": 1, "card": "4242-4242"}}'
    error = "card 4242-4242 refused"
    mine = world.letter(acme, job_type="shop.jobs.send_invoice", payload=payload, error=error)
    world.letter(rival)
    gone = world.letter(acme)
    DeadLetter.objects.filter(pk=gone.pk).update(tenant=None)
    text = body(world.client(Role.TENANT_ADMIN, acme))
    assert ids(text) == [mine.pk]
    assert "<h1>1 of your jobs did not work; our team has it.</h1>" in text
    assert "Send invoice" in text
    assert "card •••••••• refused" in text
    for hidden in ("4242", "billing", "ConnectionError", "shop.jobs", "ead letter", "rival"):
        assert hidden not in text


def test_pages_follow_one_another_without_a_gap_and_back(world: World) -> None:
    acme = world.tenant("acme")
    now = timezone.now()
    made = []
    for index in range(120):
        due = now + timedelta(minutes=index // 7)
        made.append(world.letter(acme, due_at=due, state="replaying" if index % 3 else "open").pk)
    client = world.client(Role.STAFF_VIEWER)
    seen, query, pages = [], "", []
    while True:
        text = body(client, query)
        pages.append(ids(text))
        seen += ids(text)
        after = re.search(r'rel="next" href="([^"]+)"', text)
        if after is None:
            break
        query = html.unescape(after[1])
    assert seen == made
    assert [len(page) for page in pages] == [50, 50, 20]
    before = re.search(r'rel="prev" href="([^"]+)"', text)
    assert before is not None
    assert ids(body(client, html.unescape(before[1]))) == pages[1]


@pytest.mark.parametrize(
    "query",
    ["?after=x", "?after=2026-01-01~1", "?after=2026-01-01T00:00:00%2B00:00~" + "9" * 30,
     "?after=0001-01-01T00:00:00%2B23:59~1",
     "?before=9999-12-31T23:59:59-23:59~1", "?after=~", "?after=%00~1", "?page=-1"],
)  # fmt: skip
def test_odd_cursors_are_the_first_page(world: World, query: str) -> None:
    letter = world.letter(world.tenant("acme"))
    assert ids(body(world.client(Role.STAFF_VIEWER), query)) == [letter.pk]


def test_a_page_beyond_the_last_letter_leads_back(world: World) -> None:
    world.letter(world.tenant("acme"))
    text = body(world.client(Role.STAFF_VIEWER), "?after=2999-01-01T00:00:00%2B00:00~1")
    assert "Nothing more on this page." in text


def test_nothing_dead_is_said_to_each_in_their_words(world: World) -> None:
    acme = world.tenant("acme")
    assert "<h1>No dead letter is to be drained.</h1>" in body(world.client(Role.ON_CALL))
    assert "<h1>None of your jobs failed for good.</h1>" in body(world.client(Role.TENANT_VIEWER, acme))


def test_queries_do_not_grow_with_the_rows(world: World) -> None:
    """UP-04."""
    client = world.client(Role.STAFF_VIEWER)
    body(client)
    counts = []
    for start, end in ((0, 10), (10, 100)):
        for index in range(start, end):
            world.letter(world.tenant(f"t-{index:03}"), replays=index % 3, state="replaying" if index % 4 else "open")
        with CaptureQueriesContext(connection) as queries:
            body(client)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 24


def test_it_needs_no_redis(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise RedisConnectionError("away")

    letter = world.letter(world.tenant("acme"))
    client = world.client(Role.ON_CALL)
    monkeypatch.setattr("jobops.web.selectors.snapshot.get_engine", away)
    assert ids(body(client)) == [letter.pk]


def test_the_titles_count_well() -> None:
    assert words.letters_title(1, 1, "") == "1 dead letter is past its deadline."
    assert words.letters_title(4012, 212, "") == "4,012 dead letters are to be drained; 212 are past their deadline."
    assert words.letters_title(0, 0, "acme") == "No dead letter of acme is to be drained."
    assert words.own_letters_title(3, 0, "") == "3 of your jobs did not work; our team has them."
    assert (
        words.own_letters_title(3, 1, "acme") == "3 of the jobs of acme did not work; our team is late with 1 of them."
    )
    assert words.own_letters_title(1, 1, "") == "1 of your jobs did not work; our team is late with it."
