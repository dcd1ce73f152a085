"""The list of bulk actions, ``/dlq/replays/``: which, by whom, how far; for whom which of them exist."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, ReplayRun
from tenants.models import Membership, Tenant
from tenants.roles import Role
from tests.web.bulks import confirm, draft, replayable
from tests.web.world import World


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", may_replay=True)


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def page(client: Client, query: str = "") -> str:
    answer = client.get(f"/dlq/replays/{query}")
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def listed(text: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'<th class="nb" scope="row"><a class="q" href="/dlq/\w+/(\d+)/"', text)]


def row_of(text: str, bulk: BulkAction) -> str:
    """What stands in its row, without tags."""
    rows = [row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if f"/{bulk.pk}/" in row]
    assert len(rows) == 1
    return " ".join(re.sub("<[^>]+>", " ", rows[0].replace("<wbr>", "")).split())


def bulk_of(**fields: Any) -> BulkAction:
    return BulkAction.objects.create(**({"kind": "replay", "state": "finished", "by": "olga", "matched": 3} | fields))


def test_how_many_died_again_is_told_too(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = bulk_of(matched=3, done=3)
    for number in range(3):
        ReplayRun.objects.create(
            letter=replayable(world, acme), number=1, job_id=f"d{number}", bulk=bulk, by="olga",
            state="died" if number < 2 else "succeeded", ended_at=timezone.now(),
        )  # fmt: skip
    text = page(on_call)
    assert "Died again</th>" in text
    assert re.search(r'data-l="Died again">\s*2\s*</td>', text)


def test_they_stand_newest_first_with_who_what_and_how_far(world: World, acme: Tenant, on_call: Client) -> None:
    first = bulk_of(chosen="job=webhooks.deliver&older_than=1h", done=2, skipped=1, reason="mended")
    sent = bulk_of(chosen="ticked", done=3)
    ReplayRun.objects.create(letter=replayable(world, acme), number=1, job_id="r1", bulk=sent, by="olga")
    stopped = bulk_of(kind="discard", state="cancelled", chosen="", by="command:root", matched=2_000, done=5)
    undo = bulk_of(kind="undo", undoes=stopped, chosen=f"discard {stopped.pk}", done=5)
    text = page(on_call)
    assert listed(text) == [undo.pk, stopped.pk, sent.pk, first.pk]
    said = row_of(text, first)
    assert re.match(rf"Replay {first.pk} Job webhooks.deliver, Older than 1h “mended” olga .* Ended 3 2 0 1$", said)
    assert "Running" in row_of(text, sent)
    assert "ticked one by one" in row_of(text, sent)
    assert row_of(text, stopped).startswith(f"Discard {stopped.pk} all that were to be drained command:root")
    assert row_of(text, stopped).endswith("Cancelled 2,000 5 0 0")
    assert f"what discard {stopped.pk} closed" in row_of(text, undo)
    for bulk in (first, stopped):
        assert f'href="/dlq/{"replays" if bulk.kind == "replay" else "discards"}/{bulk.pk}/"' in text


def test_it_is_reached_from_the_list_and_from_each_of_them(world: World, acme: Tenant, on_call: Client) -> None:
    link = 'href="/dlq/replays/"'
    assert link in on_call.get("/dlq/").content.decode()
    assert link in on_call.get(f"/dlq/replays/{bulk_of().pk}/").content.decode()
    assert "Nothing yet." in page(world.client(Role.TENANT_ADMIN, acme))


def test_of_drafts_everybody_sees_their_own_only(world: World, acme: Tenant, on_call: Client) -> None:
    mine = draft(on_call, "replay", [replayable(world, acme).pk])
    assert listed(page(on_call)) == [mine.pk]
    assert "Not confirmed" in page(on_call)
    assert listed(page(world.client(Role.OPERATOR))) == []


def test_a_tenants_people_see_their_own_and_only_what_they_can_open(world: World, acme: Tenant) -> None:
    """SE-05: neither what others did, nor what holds a letter that they do not see any more."""
    admin = world.client(Role.TENANT_ADMIN, acme)
    letter = replayable(world, acme)
    by_staff = draft(world.client(Role.ON_CALL), "replay", [letter.pk])
    mine = draft(admin, "replay", [letter.pk])
    confirm(admin, mine)
    text = page(admin)
    assert listed(text) == [mine.pk] != [by_staff.pk]
    assert "New try" in row_of(text, mine)
    for hidden in ("Bulk", "ead letter", "Replay", "Who"):
        assert hidden not in text[text.index("<main") :]
    running = BulkAction.objects.filter(pk=mine.pk)
    running.update(state="running")
    assert f'/dlq/replays/{mine.pk}/"' in admin.get("/dlq/").content.decode()
    other = world.tenant("other")
    letter.tenant = other
    letter.save()
    assert listed(page(admin)) == []
    assert f'/dlq/replays/{mine.pk}/"' not in admin.get("/dlq/").content.decode()
    assert admin.get(f"/dlq/replays/{mine.pk}/").status_code == 404
    assert Membership.objects.filter(tenant=acme).exists()


def test_pages_follow_one_another_and_back_in_a_constant_number_of_queries(world: World, on_call: Client) -> None:
    """UP-04"""
    made, counts = [], []
    for count in (10, 110):
        made += [bulk_of(chosen="owner=billing").pk for _ in range(count)]
        page(on_call)
        with CaptureQueriesContext(connection) as queries:
            page(on_call)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 15
    made.reverse()
    text = page(on_call)
    seen = [listed(text)]
    while after := re.search(r'rel="next" href="([^"]+)"', text):
        text = page(on_call, after[1])
        seen.append(listed(text))
    assert [len(each) for each in seen] == [50, 50, 20]
    assert [pk for each in seen for pk in each] == made
    before = re.search(r'rel="prev" href="([^"]+)"', text)
    assert before
    assert listed(page(on_call, before[1])) == seen[1]
    for odd in ("?after=x", "?after=-1", "?before=%00", "?after=" + "9" * 40):
        assert listed(page(on_call, odd)) == seen[0]
