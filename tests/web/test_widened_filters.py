"""An address of which a part is passed over lists more than was asked for: nothing is done to all of that."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client

from dlq.models import BulkAction, DeadLetter
from dlq.searchable import rewrite
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import choose, draft, replayable, said
from tests.web.test_letters import body, ids
from tests.web.world import World

WIDENING = ["status=foo", "reason=nope", "older_than=never", "owner=%00", "state=open", "assigned=olga", "q=a%00b"]


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def all_match(text: str) -> str:
    found = re.search(r'<input[^>]*id="all-match"[^>]*>', text)
    assert found
    return found[0]


def sent_query(text: str) -> str:
    found = re.search(r'<form [^>]*id="letters".*?name="query" value="([^"]*)"', text, re.DOTALL)
    assert found
    return html.unescape(found[1])


@pytest.mark.parametrize("query", WIDENING)
def test_all_that_match_cannot_be_taken_on_the_page_nor_on_the_server(
    world: World, acme: Tenant, on_call: Client, query: str
) -> None:
    letter = replayable(world, acme)
    text = body(on_call, f"?{query}")
    name = query.partition("=")[0]
    assert f"“{name}” was passed over" in text
    assert "not to be taken as a whole" in text
    assert " disabled" in all_match(text)
    assert re.search(r'value="csv" type="submit" disabled', text)
    # Who sends the form all the same, as from a page that a poll has not reached yet, is refused.
    for kind in ("replay", "discard"):
        assert choose(on_call, kind, query=sent_query(text)).status_code == 302
        assert f"Nothing was changed: the filter “{name}” is not understood" in html.unescape(said(on_call))
    answer = on_call.post("/dlq/export/", {"format": "csv", "query": sent_query(text)})
    assert answer.status_code == 302
    assert not BulkAction.objects.exists()
    assert DeadLetter.objects.get(pk=letter.pk).state == "open"
    assert draft(on_call, "replay", [letter.pk]).matched == 1, "what is ticked is meant, whatever else is listed"


@pytest.mark.parametrize("query", ["", "owner=billing", "sort=nope", "after=x", "page=3"])
def test_what_lists_no_more_than_was_asked_for_can_be_taken(
    world: World, acme: Tenant, on_call: Client, query: str
) -> None:
    replayable(world, acme)
    text = body(on_call, f"?{query}")
    assert " disabled" not in all_match(text)
    assert draft(on_call, "replay", query=sent_query(text)).matched == 1


def test_the_next_page_has_not_forgotten_it(world: World, acme: Tenant, on_call: Client) -> None:
    for _ in range(51):
        replayable(world, acme)
    text = body(on_call, "?status=foo")
    after = re.search(r'rel="next" href="([^"]+)"', text)
    assert after
    text = body(on_call, html.unescape(after[1]))
    assert len(ids(text)) == 1
    assert "“status” was passed over" in text
    assert " disabled" in all_match(text)


def test_a_letter_is_searched_by_its_number_and_signs_are_named_as_ignored(
    world: World, acme: Tenant, on_call: Client
) -> None:
    wanted = replayable(world, acme, pk=58112)
    rewrite([wanted, replayable(world, acme, error="said no")])
    for text in ("58112", "No.+58112", "%2358112"):
        assert ids(body(on_call, f"?q={text}")) == [wanted.pk]
    nothing = body(on_call, "?q=%22")
    assert ids(nothing) == []
    assert "Search for a letter or a digit." in nothing
    mixed = body(on_call, "?q=said+-+no")
    assert len(ids(mixed)) == 1
    assert "A search goes by letters and digits: “-” counts for nothing." in mixed
    assert " disabled" not in all_match(mixed)
