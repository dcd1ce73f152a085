"""What retention deletes next, ``/settings/retention/``, and letters by when they were drained."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, DeadLetter, ReplayRun
from dlq.purging import purge_due
from tenants.models import Tenant
from tenants.roles import Role
from tests.dlq.letters import letter
from tests.web.test_letters import ids
from tests.web.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("send")]

PAGE = "/settings/retention/"


def body(client: Client, url: str = PAGE) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return html.unescape(" ".join(answer.content.decode().split()))


def drained(tenant: Tenant, days: float, **fields: Any) -> DeadLetter:
    return letter(tenant, state="discarded", drained_at=timezone.now() - timedelta(days=days), **fields)


def test_nothing_to_delete_says_so(world: World) -> None:
    text = body(world.client(Role.STAFF_VIEWER))
    assert "<h1>Nothing is deleted in the next 7 days.</h1>" in text
    assert "for 30 days after it is drained" in text
    assert "due already" not in text


def test_each_number_leads_to_its_letters(world: World, acme: Tenant) -> None:
    one, two = drained(acme, 27, owner="payments"), drained(acme, 28, owner="payments")
    three = drained(acme, 27, owner="billing")
    drained(acme, 40, owner="billing")
    drained(acme, 3, owner="billing")
    client = world.client(Role.STAFF_VIEWER)
    text = body(client)
    assert "<h1>3 drained dead letters are deleted in the next 7 days.</h1>" in text
    assert "1 is due already" in text
    links = dict(re.findall(r'<a class="q" href="(/dlq/[^"]+)">([\d,]+)</a>', text))
    assert sorted(links.values()) == ["1", "1", "1", "1", "1", "2", "2", "3"]
    by_owner = {url: ids(body(client, url)) for url in links}
    for url, many in links.items():
        assert len(by_owner[url]) == int(many), url
    assert [one.pk, two.pk] in [sorted(found) for found in by_owner.values()]
    assert [one.pk, two.pk, three.pk] in [sorted(found) for found in by_owner.values()]


def test_what_was_deleted_stands_there(world: World, acme: Tenant) -> None:
    for _ in range(3):
        drained(acme, 31)
    assert purge_due(limit=2) == 2
    text = body(world.client(Role.OPERATOR))
    assert "all that were old enough" in text
    assert ">scheduler<" in text.replace("<wbr>", "")
    assert re.search(r"Deleted so far</dt><dd[^>]*>\s*(<span[^>]*>)?2<", text)
    assert "1 is due already" in text
    audit = body(world.client(Role.OPERATOR), "/audit/?action=letter.purge")
    assert "deleted drained dead letters for good" in audit


def test_a_replay_of_which_letters_are_gone_says_so(world: World, acme: Tenant) -> None:
    """Not "none succeeded" of one that went well."""
    bulk = BulkAction.objects.create(
        kind="replay", state="finished", by="ada", matched=3, done=3, started_at=timezone.now(), ended_at=timezone.now()
    )
    for days in (31, 31, 2):
        one = drained(acme, days)
        DeadLetter.objects.filter(pk=one.pk).update(state="resolved")
        ReplayRun.objects.create(letter=one, number=1, job_id=f"j{one.pk}", by="ada", state="succeeded", bulk=bulk)
        bulk.members.create(letter=one, state="done")
    DeadLetter.objects.update(group=None)
    client = world.client(Role.ON_CALL)
    assert "is over: 3 succeeded<" in body(client, f"/dlq/replays/{bulk.pk}/")
    assert purge_due() == 2
    text = body(client, f"/dlq/replays/{bulk.pk}/")
    assert "is over: 1 succeeded, 2 were deleted since" in text
    assert "Deleted since" in text


def test_the_page_takes_as_many_queries_for_fifty_teams_as_for_ten(world: World, acme: Tenant) -> None:
    client = world.client(Role.STAFF_VIEWER)
    body(client)
    counts = []
    for teams in (10, 50):
        for number in range(teams):
            drained(acme, 27, owner=f"team {number}")
        with CaptureQueriesContext(connection) as queries:
            body(client)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_team_by_an_odd_name_is_text(world: World, acme: Tenant) -> None:
    drained(acme, 27, owner="<script>alert(1)</script>")
    assert "<script>alert" not in world.client(Role.OPERATOR).get(PAGE).content.decode()


def test_the_list_is_narrowed_to_a_time_in_which_letters_were_drained(world: World, acme: Tenant) -> None:
    three, nine = drained(acme, 3), drained(acme, 9)
    still_open = letter(acme)
    client = world.client(Role.STAFF_VIEWER)
    day = timezone.localdate(nine.drained_at).isoformat()
    assert ids(body(client, "/dlq/?status=all&drained=7d")) == [three.pk]
    assert ids(body(client, f"/dlq/?status=discarded&drained={day}..{day}")) == [nine.pk]
    assert ids(body(client, "/dlq/?by=one&drained=7d")) == []
    assert ids(body(client, "/dlq/?by=one")) == [still_open.pk]
    text = body(client, "/dlq/?status=all&drained=7d")
    assert "<span>Drained</span><b>in the last 7d</b>" in text
    assert '<option value="7d" selected>in the last 7d</option>' in text
    text = body(client, "/dlq/?status=all&drained=soon")
    assert "“drained” was passed over" in text
    assert "not to be taken as a whole" in text
    own = world.client(Role.TENANT_VIEWER, acme)
    assert ids(body(own, "/dlq/?status=all&drained=7d")) == [three.pk]
    assert "in the last 7d" in body(own, "/dlq/?status=all&drained=7d")


def test_the_report_leads_to_what_was_drained_and_says_what_is_gone(world: World, acme: Tenant) -> None:
    drained(acme, 3, owner="billing")
    drained(acme, 9, owner="billing")
    client = world.client(Role.STAFF_VIEWER)
    text = body(client, "/dlq/report/")
    url = "/dlq/?by=one&owner=billing&status=all&drained=7d"
    assert f'<a class="q" href="{url}">1</a>' in text
    assert len(ids(body(client, url))) == 1
    day = timezone.localdate() - timedelta(days=9)
    text = body(client, f"/dlq/report/?period=custom&from={day}&to={timezone.localdate()}")
    found = re.search(r'href="(/dlq/\?by=one&owner=billing&status=all&drained=[^"]+)">2<', text)
    assert found
    assert len(ids(body(client, found[1]))) == 2
    assert "is purged by retention" not in text
    assert "drained more than 30 days ago is purged by retention" in body(client, "/dlq/report/?period=90d")
