"""Narrowing the list of dead letters: tabs, filters, search, and whatever else an address may say."""

from __future__ import annotations

import html
import json
import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq import searching
from dlq.models import DeadLetter
from dlq.searchable import rewrite
from jobops.web.selectors import letter_counts
from tenants.roles import Role
from tests.web.test_letters import body, ids
from tests.web.world import World


def title(text: str) -> str:
    found = re.search("<h1>(.*?)</h1>", text)
    assert found
    return html.unescape(found[1])


def tabs(text: str) -> dict[str, str]:
    """The tabs and their counts."""
    menu = text[text.index('<ul class="views">') :].partition("</ul>")[0]
    menu = re.sub(r"<svg.*?</svg>", "", menu, flags=re.DOTALL)
    found = re.findall(r'<a href="\?[^"]*"[^>]*>\s*([^<]+?)\s*(?:<span class="cnt">([^<]+)</span>)?\s*</a>', menu)
    return dict(found)


@pytest.fixture
def on_call(world: World) -> Client:
    """With letters in every state: three open (one late), two replaying, four resolved, one discarded."""
    acme = world.tenant("acme")
    now = timezone.now()
    for minutes in (-5, 20, 90):
        world.letter(acme, due_at=now + timedelta(minutes=minutes))
    for state, count in (("replaying", 2), ("resolved", 4), ("discarded", 1)):
        for _ in range(count):
            world.letter(acme, state=state, due_at=now + timedelta(hours=3), drained_at=now, discard_reason="a twin")
    return world.client(Role.ON_CALL)


def test_tabs_lead_through_the_states_and_count_each(on_call: Client) -> None:
    text = body(on_call)
    assert tabs(text) == {"To drain": "5", "Overdue": "1", "Replaying": "2", "Resolved": "4", "Discarded": "1"}
    links = re.findall(r'<a href="(\?[^"]*)"', text[text.index('<ul class="views">') :].partition("</ul>")[0])
    found = [len(ids(body(on_call, html.unescape(link)))) for link in links]
    assert found == [5, 1, 2, 4, 1]
    assert title(body(on_call, "?overdue=1")) == "1 dead letter is past its deadline."
    assert title(body(on_call, "?status=resolved&sort=newest")) == "4 dead letters were resolved."
    assert "a twin" in body(on_call, "?status=discarded")


def test_all_states_and_open_alone_are_to_be_had_by_address(on_call: Client) -> None:
    every = body(on_call, "?status=all")
    assert len(ids(every)) == 10
    assert tabs(every)["All states"] == "10"
    alone = body(on_call, "?status=open")
    assert len(ids(alone)) == 3
    assert tabs(alone)["Open"] == "3"


def test_what_no_count_is_kept_of_is_counted_so_far_only(on_call: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """UP-03."""
    monkeypatch.setattr(letter_counts, "CAP", 3)
    text = body(on_call, "?status=resolved&reason=exhausted")
    assert tabs(text) == {"To drain": "3+", "Overdue": "1", "Replaying": "2", "Resolved": "3+", "Discarded": "1"}
    assert len(ids(text)) == 4
    assert "4 of 3+" in text
    assert title(text) == "3+ dead letters match."
    assert tabs(body(on_call, "?status=all&reason=exhausted"))["All states"] == "7+"
    kept = body(on_call, "?status=resolved")
    assert tabs(kept) == {"To drain": "5", "Overdue": "1", "Replaying": "2", "Resolved": "4", "Discarded": "1"}


def test_each_filter_narrows_and_is_taken_away_by_its_chip(world: World) -> None:
    acme, rival = world.tenant("acme"), world.tenant("rival")
    now = timezone.now()
    wanted = world.letter(
        acme, job_type="shop.jobs.pay", owner="payments", reason="poison", error_class="shop.errors.CardRefused",
        dead_at=now - timedelta(days=3),
    )  # fmt: skip
    other = world.letter(rival)
    client = world.client(Role.STAFF_VIEWER)
    filters = ("tenant=acme", "job=shop.jobs.pay", "owner=payments", "reason=poison", "error=CardRefused")
    for query in (*filters, "error=shop.errors.CardRefused", "older_than=2d"):
        text = body(client, f"?{query}")
        assert ids(text) == [wanted.pk], query
        assert re.search(rf'<code class="qs"[^>]*>\?(by=one&amp;)?{re.escape(query)}</code>', text)
    text = body(client, "?owner=payments&reason=poison")
    assert [html.unescape(link) for link in re.findall(r'<a href="(\?[^"]*)" aria-label="Remove filter', text)] == [
        "?reason=poison", "?by=one&owner=payments",
    ]  # fmt: skip
    assert title(text) == "1 dead letter matches."
    assert ids(body(client, "?owner=nobody")) == []
    assert ids(body(client)) == [wanted.pk, other.pk]


def test_the_form_offers_what_occurs_and_keeps_what_is_chosen(world: World) -> None:
    acme = world.tenant("acme")
    for owner in ("payments", "billing"):
        world.letter(acme, owner=owner)
    world.letter(acme, owner="only-resolved", state="resolved")
    text = body(world.client(Role.ON_CALL), "?owner=payments&overdue=1")
    form = text[text.index('<form class="ask"') :].partition("</form>")[0]
    assert re.findall(r'<option value="(?:billing|payments|only-resolved)"[^>]*>', form) == [
        '<option value="billing">', '<option value="payments" selected>',
    ]  # fmt: skip
    assert '<input type="hidden" name="overdue" value="1">' in form


def test_an_address_says_only_what_is_asked_for(world: World) -> None:
    world.tenant("acme")
    answer = world.client(Role.ON_CALL).get("/dlq/?by=one&q=&tenant=&owner=payments&reason=")
    assert answer.status_code == 302
    assert answer["Location"] == "/dlq/?by=one&owner=payments"


def test_a_search_finds_every_word_and_no_match_is_no_empty_queue(world: World) -> None:
    acme = world.tenant("acme")
    found = world.letter(acme, error="503 Service Unavailable", payload='{"args": [], "kwargs": {"order": 58112}}')
    other = world.letter(acme, error="no such customer")
    rewrite([found, other])
    client = world.client(Role.ON_CALL)
    assert ids(body(client, "?q=unavailable")) == [found.pk]
    assert ids(body(client, "?q=shop.jobs")) == [found.pk, other.pk]
    assert ids(body(client, f"?q={other.job_id}")) == [other.pk]
    text = body(client, "?q=unavailable+customer")
    assert "Nothing matches these filters." in text
    assert "Nothing is dead" not in text


def test_a_search_with_many_hits_is_counted_so_far_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "FEW", 2)
    monkeypatch.setattr(letter_counts, "SEARCH_CAP", 3)
    acme = world.tenant("acme")
    rewrite([world.letter(acme, error="timeout", due_at=timezone.now() + timedelta(hours=n)) for n in range(5)])
    text = body(world.client(Role.ON_CALL), "?q=timeout")
    assert len(ids(text)) == 5
    assert title(text) == "3+ dead letters match."
    assert tabs(text) == {"To drain": "3+", "Overdue": "", "Replaying": "", "Resolved": "", "Discarded": ""}


@pytest.mark.parametrize("query", [
    "page=0", "page=-1", "page=abc", "page=1e30", "page=%00", "per_page=0", "per_page=-5", "per_page=1000000",
    "sort=nope", "sort=password", "sort=owner__password", "sort=due&sort=newest", "sort=%00",
    f"sort={quote('(select 1)--')}", "sort=tenant__secret", "sort=%3F",
    "status=deleted", "reason=none", "older_than=never", "older_than=-1d", "overdue=maybe", "owner=%00",
    "job=%E2%80%AE",
    f"q={'x' * 5000}", f"tenant={'x' * 500}",
])  # fmt: skip
def test_odd_values_are_passed_over_and_said(world: World, query: str) -> None:
    """HX-07, HX-08: the usual page in the usual order, and never more than a page."""
    acme = world.tenant("acme")
    made = [world.letter(acme, due_at=timezone.now() + timedelta(minutes=n)).pk for n in range(60)]
    text = body(world.client(Role.ON_CALL), f"?{query}")
    if "newest" not in query:
        assert ids(text) == made[:50]
    if query.startswith(("sort=n", "sort=p", "status", "reason", "older", "overdue", "owner", "q=", "tenant")):
        assert "was passed over:" in text


@pytest.mark.parametrize("query", [
    "tenant=acme", "owner=billing", "job=shop.jobs.send", "reason=exhausted", "error=ConnectionError", "older_than=1m",
    "overdue=1", "status=all", "sort=newest", "q=provider", "tenant=acme&owner=billing&reason=exhausted&q=provider",
])  # fmt: skip
def test_queries_do_not_grow_with_the_rows_whatever_is_asked(world: World, query: str) -> None:
    """UP-04."""
    client = world.client(Role.STAFF_VIEWER)
    acme = world.tenant("acme")
    counts = []
    for start, end in ((0, 10), (10, 100)):
        late = timezone.now() - timedelta(hours=1)
        rewrite([world.letter(acme, due_at=late - timedelta(minutes=n)) for n in range(start, end)])
        body(client, f"?{query}")
        with CaptureQueriesContext(connection) as queries:
            assert len(ids(body(client, f"?{query}"))) == min(end, 50)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 36


def test_huge_arguments_make_no_huge_page(world: World) -> None:
    """PX-05: their error may hold what is secret in them; without looking through them, it is not shown."""
    acme = world.tenant("acme")
    payload = json.dumps({"args": [], "kwargs": {"blob": "x" * 3_000_000, "password": "hunter2hunter2"}})
    letter = world.letter(acme, payload=payload, error="refused hunter2hunter2")
    for number in range(24):
        letter.pk, letter.job_id = None, f"job-{number}"
        letter.save(force_insert=True)
    began = timezone.now()
    text = body(world.client(Role.SUPERUSER))
    assert len(ids(text)) == 25
    assert len(text) < 300_000
    assert (timezone.now() - began).total_seconds() < 1
    assert "hunter2" not in text
    assert DeadLetter.objects.count() == 25
