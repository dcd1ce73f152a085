"""SE-05: an id of another tenant's, alone or in a list, is as one that does not exist, and nothing tells of it.
SE-08: whatever ``next`` says, an action leads back to a page of this site."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from dlq.models import BulkAction, BulkMember, DeadLetter
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.matrix import MISSING
from tests.web.world import World

NOTE = {"note": "sent twice"}


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def rival(world: World) -> Tenant:
    return world.tenant("rival", may_replay=True)


@pytest.fixture
def mia(world: World, acme: Tenant) -> Client:
    client = world.client(Role.TENANT_ADMIN, acme)
    AuditEntry.objects.all()._raw_delete("default")
    return client


def said(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


@pytest.mark.parametrize("kind", ["discard", "replay"])
def test_of_a_list_of_ids_only_ones_own_are_touched(
    world: World, mia: Client, acme: Tenant, rival: Tenant, kind: str
) -> None:
    own, foreign = world.letter(acme), world.letter(rival)
    told = []
    for other in (foreign.pk, MISSING.letter_id):
        answer = mia.post("/dlq/act/", {"kind": kind, "ids": [own.pk, other]})
        assert answer.status_code == 302
        told.append(said(answer))
    # The second answer's messages stand behind the first one's, which nobody has read.
    assert told[1] == told[0] * 2
    bulk = BulkAction.objects.latest("pk")
    assert bulk.matched == 1
    assert set(BulkMember.objects.values_list("letter_id", flat=True)) == {own.pk}
    mia.post(f"/dlq/bulk/{bulk.pk}/confirm/", NOTE)
    foreign.refresh_from_db()
    assert (foreign.state, foreign.replays) == ("open", 0)
    assert "rival" not in str(list(AuditEntry.objects.values()))
    assert set(AuditEntry.objects.filter(target_kind="letter").values_list("target_id", flat=True)) <= {str(own.pk)}
    if kind == "discard":
        assert DeadLetter.objects.get(pk=own.pk).state == "discarded"


@pytest.mark.parametrize("ids", ["foreign", "missing"])
def test_a_list_of_nothing_but_foreign_ids_does_nothing(world: World, mia: Client, rival: Tenant, ids: str) -> None:
    chosen = world.letter(rival).pk if ids == "foreign" else MISSING.letter_id
    mia.post("/dlq/act/", {"kind": "discard", "ids": [chosen]})
    bulk = BulkAction.objects.order_by("-pk").first()
    assert bulk is None or bulk.matched == 0
    assert not BulkMember.objects.exists()
    assert set(DeadLetter.objects.values_list("state", flat=True)) <= {"open"}


@pytest.mark.parametrize("query", ["", "tenant=rival", "tenant=rival&status=all", "q=secret", "status=all"])
def test_all_that_match_are_ones_own(world: World, mia: Client, acme: Tenant, rival: Tenant, query: str) -> None:
    own, foreign = world.letter(acme), world.letter(rival, error="a secret of theirs")
    mia.post("/dlq/act/", {"kind": "discard", "all": "1", "query": query, "tenant": "rival"})
    assert set(BulkMember.objects.values_list("letter_id", flat=True)) <= {own.pk}
    for bulk in BulkAction.objects.all():
        mia.post(f"/dlq/bulk/{bulk.pk}/confirm/", NOTE)
    foreign.refresh_from_db()
    assert foreign.state == "open"
    assert "rival" not in str(list(AuditEntry.objects.exclude(after={}).values("target_id", "tenant_slug")))


def test_an_export_holds_ones_own(world: World, mia: Client, acme: Tenant, rival: Tenant) -> None:
    own, foreign = world.letter(acme), world.letter(rival, error="a secret of theirs")
    for query in ("", "tenant=rival", "status=all"):
        answer = mia.post("/dlq/export/", {"format": "csv", "query": query})
        text = b"".join(answer.streaming_content).decode() if answer.streaming else ""
        rows = list(csv.DictReader(io.StringIO(text)))
        assert {row["id"] for row in rows} <= {str(own.pk)}, query
        assert "secret of theirs" not in text
    assert foreign.pk
    assert AuditEntry.objects.filter(action="letter.export").count() == 3


@pytest.mark.parametrize("page", ["/dlq/", "/live/dlq/", "/live/overview/", "/", "/tenants/", "/audit/"])
def test_counts_and_searches_tell_nothing_of_others(
    world: World, mia: Client, acme: Tenant, rival: Tenant, page: str
) -> None:
    world.letter(acme)
    queries = ("", "?q=theirs", "?tenant=rival", "?error=TheirError", "?find=rival")
    assert seen(mia, f"{page}?tenant=rival").replace("rival", "nobody") == seen(mia, f"{page}?tenant=nobody")
    before = [seen(mia, f"{page}{query}") for query in queries]
    for _ in range(3):
        letter = world.letter(rival, error="a secret of theirs", error_class="TheirError")
        world.enqueue("rival")
    after = [seen(mia, f"{page}{query}") for query in queries]
    assert after == before
    assert letter.pk


def seen(client: Client, url: str) -> str:
    """What the page says, without what differs each time."""
    answer = client.get(url)
    assert answer.status_code in (200, 404), url
    text = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", answer.content.decode())
    return str(answer.status_code) + re.sub(
        r"\d+\s*(s|min|ms)\b|\d\d:\d\d(:\d\d)?|datetime=\"[^\"]+\"|title=\"[^\"]+\"", "", text
    )


def test_a_bulk_action_of_somebody_else_is_not_there(world: World, mia: Client, acme: Tenant) -> None:
    other = world.client(Role.TENANT_ADMIN, acme)
    other.post("/dlq/act/", {"kind": "discard", "ids": [world.letter(acme).pk]})
    bulk = BulkAction.objects.get()
    for url in (f"/dlq/replays/{bulk.pk}/", f"/live/dlq/bulk/{bulk.pk}/"):
        assert other.get(url).status_code == 200
        assert mia.get(url).status_code == 404
    for verb in ("confirm", "cancel", "undo"):
        assert mia.post(f"/dlq/bulk/{bulk.pk}/{verb}/", NOTE).status_code == 404
    bulk.refresh_from_db()
    assert bulk.state == "draft"


EVIL = ("//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "%2f%2fevil.example", "")


@pytest.mark.parametrize("following", EVIL)
def test_no_action_leads_to_another_site(world: World, acme: Tenant, following: str) -> None:
    client = world.client(Role.OPERATOR)
    letter = world.letter(acme)
    sent = NOTE | {"next": following}
    places = [
        client.post(f"/dlq/{letter.pk}/discard/", sent)["Location"],
        client.post(f"/dlq/{letter.pk}/undo/", sent, headers={"Referer": f"http:{following}"})["Location"],
        client.post("/dlq/act/", {"kind": "discard", "ids": [letter.pk], **sent})["Location"],
    ]
    bulk = BulkAction.objects.get()
    places.append(client.post(f"/dlq/bulk/{bulk.pk}/confirm/", sent)["Location"])
    places.append(client.post(f"/dlq/bulk/{bulk.pk}/undo/", sent)["Location"])
    for place in places:
        assert place.startswith("/dlq/"), (following, place)
        assert "evil" not in place, (following, place)


@pytest.mark.parametrize("following", ["/dlq/?status=all&q=a%20b", "/dlq/?after=2026-01-01T00:00:00%2B00:00~5"])
def test_a_page_of_ours_is_kept(world: World, acme: Tenant, following: str) -> None:
    client = world.client(Role.OPERATOR)
    letter = world.letter(acme)
    assert client.post(f"/dlq/{letter.pk}/discard/", NOTE | {"next": following})["Location"] == following
    referer = {"Referer": f"http://testserver{following}"}
    assert client.post(f"/dlq/{letter.pk}/undo/", headers=referer)["Location"] == following
