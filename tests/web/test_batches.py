"""The pages of batches: which exist for whom, what stands there, and cancelling one."""

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

from jobops.batches.models import Batch
from jobops.engine.records import Outcome
from jobops.web.selectors import reach
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

ID = "b" * 32


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme", cap=None)


@pytest.fixture
def staff(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def batch_of(tenant: Tenant, batch_id: str = ID, **fields: Any) -> Batch:
    usual = {"tenant": tenant.slug, "tenant_uid": str(tenant.pk), "state": "running", "name": "Import 2026-11"}
    return Batch.objects.create(id=batch_id, **(usual | fields))


def text_of(client: Client, url: str, code: int = 200) -> str:
    answer = client.get(url)
    assert answer.status_code == code
    main = html.unescape(answer.content.decode()).partition("<main")[2].replace("<wbr>", "")
    return " ".join(re.sub(r"<[^>]+>", " ", main).split()) if main else html.unescape(answer.content.decode())


def links(client: Client, url: str) -> list[str]:
    return re.findall(r'<th scope="row"><a class="q whole" href="/batches/([^/]+)/"', client.get(url).content.decode())


def test_one_that_runs_shows_its_counts_its_members_and_what_follows(world: World, acme: Tenant, staff: Client) -> None:
    batch_of(acme, total=3, then_job="mail.notify_user", then_data=b"x")
    ids = [world.enqueue("acme", batch=ID, arguments={"number": n}) for n in range(3)]
    world.settle(world.claim(), Outcome.succeeded())
    running = world.claim()
    text = text_of(staff, f"/batches/{ID}/")
    assert "Import 2026-11: 1 of 3 ended" in text
    assert "When all have ended well, the job after it starts." in text
    assert "Succeeded 1 To come 2 Dead 0 Ended otherwise 0" in text
    assert text.index(running.id) < text.index(ids[2]), "what runs stands in front"
    assert "mail.notify_user" in text
    assert f'hx-get="/live/batches/{ID}/"' in staff.get(f"/batches/{ID}/").content.decode()


def test_dead_members_stand_there_with_their_letters_and_the_way_to_all_of_them(
    world: World, acme: Tenant, staff: Client
) -> None:
    batch = batch_of(acme, state="stuck", total=2, created_at=timezone.now() - timedelta(hours=1))
    letter = world.letter(acme, batch=ID, error="no such row 77")
    world.letter(acme, error="of no batch")
    world.enqueue("acme", batch=ID)
    world.settle(world.claim(), Outcome.failed("poison", "ValueError", "no such row 77"))
    url = f"/batches/{ID}/"
    text = text_of(staff, url)
    assert "Import 2026-11 waits for a person" in text
    assert "1 member is dead. Replay its letter: when all succeed, it has succeeded." in text
    assert f"No. {letter.pk}" in text
    assert "no such row 77" in text
    assert "of no batch" not in text
    page = staff.get(url).content.decode()
    assert f'href="/dlq/?batch={batch.pk}&amp;status=all"' in page
    listed = staff.get(f"/dlq/?batch={batch.pk}&status=all").content.decode()
    assert "no such row 77" in listed
    assert "of no batch" not in listed


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"state": "filling"}, "Import 2026-11 is being filled"),
        ({"state": "succeeded", "total": 2, "succeeded": 2}, "Import 2026-11 succeeded"),
        ({"state": "ended", "total": 2, "succeeded": 1, "cancelled": 1, "then_job": "t.x"}, "1 was cancelled. The job"),
        ({"state": "ended", "total": 2, "succeeded": 1, "dead": 1}, "1 died, and their letters were discarded"),
        ({"state": "cancelled", "total": 2}, "What had not started was cancelled where possible."),
        ({"state": "lost", "total": 3, "succeeded": 1}, "of 2 jobs nothing is known any more"),
    ],
)
def test_every_state_is_said_in_words(acme: Tenant, staff: Client, fields: dict[str, Any], said: str) -> None:
    batch_of(acme, ended_at=None if fields["state"] == "filling" else timezone.now(), **fields)
    text = text_of(staff, f"/batches/{ID}/")
    assert said in text
    assert ("Cancel the rest" in text) is (fields["state"] == "filling")
    assert ("hx-get" in staff.get(f"/batches/{ID}/").content.decode()) is (fields["state"] == "filling")


def test_a_tenants_people_see_their_own_only_and_in_plain_words(world: World, acme: Tenant) -> None:
    """SE-05: by the lasting identity; the slug may have been another customer's."""
    rival = world.tenant("rival")
    own = batch_of(acme, state="stuck", total=1, dead=1)
    foreign = batch_of(rival, "f" * 32)
    former = batch_of(acme, "e" * 32, tenant_uid="999999")
    admin = world.client(Role.TENANT_ADMIN, acme)
    assert links(admin, "/batches/") == [own.pk]
    for other in (foreign, former):
        assert admin.get(f"/batches/{other.pk}/").status_code == 404
        assert admin.get(f"/live/batches/{other.pk}/").status_code == 404
    assert links(admin, "/batches/?tenant=rival") == []
    text = text_of(admin, f"/batches/{own.pk}/")
    assert "Import 2026-11 waits for our team" in text
    assert "1 job did not work; our team has it." in text
    for hidden in ("ead letter", "Redis", "member", "Correlation", own.pk):
        assert hidden not in text.partition("Facts")[0].partition("Batches")[2]
    assert "you may not cancel jobs" in text


def test_the_list_is_newest_first_filtered_and_paged_in_a_constant_number_of_queries(
    world: World, acme: Tenant, staff: Client
) -> None:
    """UP-04"""
    now, beta = timezone.now(), world.tenant("beta")
    batch_of(beta, "beta1", created_at=now + timedelta(minutes=5))
    counts = []
    for first, count in ((0, 10), (10, 110)):
        for number in range(first, first + count):
            state = "succeeded" if number % 2 else "running"
            # Many within one instant: the id decides.
            batch_of(acme, f"n{number:04}", state=state, created_at=now + timedelta(seconds=number // 7))
        links(staff, "/batches/")
        with CaptureQueriesContext(connection) as queries:
            links(staff, "/batches/")
        counts.append(len(queries))
    assert counts[0] == counts[1] < 15
    expected = [f"n{number:04}" for number in range(119, -1, -1)]
    assert links(staff, "/batches/?tenant=beta") == ["beta1"]
    assert links(staff, "/batches/?tenant=acme&state=succeeded") == expected[0:100:2]
    url, seen = "?tenant=acme", []
    while url:
        page = html.unescape(staff.get(f"/batches/{url}").content.decode())
        seen.append(links(staff, f"/batches/{url}"))
        found = re.search(r'rel="next" href="([^"]+)"', page)
        before = re.search(r'rel="prev" href="([^"]+)"', page)
        url = found[1] if found else ""
    assert [len(each) for each in seen] == [50, 50, 20]
    assert [pk for each in seen for pk in each] == expected
    assert before is not None
    assert links(staff, f"/batches/{before[1]}") == seen[1]
    for odd in ("?after=x", "?after=~", "?before=%00", "?state=odd", "?tenant=%00", "?after=2026-01-01T00:00~x"):
        assert len(links(staff, f"/batches/{odd}")) == 50


def test_it_is_reached_from_the_navigation(world: World, acme: Tenant, staff: Client) -> None:
    for client in (staff, world.client(Role.TENANT_VIEWER, acme)):
        bar = client.get("/batches/").content.decode().partition("<main")[0]
        assert bar.count('<a href="/batches/" aria-current="page">Batches</a>') == 2, "in the bar and in the menu"
    nobody = world.client(None).get("/").content.decode()
    assert "/batches/" not in nobody


def test_while_redis_is_away_it_shows_what_was_counted_last(
    acme: Tenant, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_of(acme, total=3, succeeded=2)
    monkeypatch.setattr(reach, "_away_until", float("inf"))
    text = text_of(staff, f"/batches/{ID}/")
    assert "Redis cannot be reached. This is how it stood when it was counted last." in text
    assert "Succeeded 2 To come 1" in text


def test_the_page_asks_a_constant_number_of_queries(world: World, acme: Tenant, staff: Client) -> None:
    counts = []
    for size in (2, 40):
        batch = batch_of(acme, f"s{size}", state="stuck", total=size, dead=size, ended_at=None)
        for _ in range(size):
            world.letter(acme, batch=batch.pk, dead_at=timezone.now())
            world.enqueue("acme", batch=batch.pk)
        staff.get(f"/batches/{batch.pk}/")
        with CaptureQueriesContext(connection) as queries:
            staff.get(f"/batches/{batch.pk}/")
        counts.append(len(queries))
    assert counts[0] == counts[1] < 20


def test_names_are_escaped_and_pages_lead_to_each_other(world: World, acme: Tenant, staff: Client) -> None:
    batch_of(acme, name="<script>x</script>")
    for url in ("/batches/", f"/batches/{ID}/"):
        assert "<script>x" not in staff.get(url).content.decode()
    job_id = world.enqueue("acme", batch=ID)
    assert f'href="/batches/{ID}/"' in staff.get(f"/jobs/{job_id}/").content.decode()
    assert 'href="/batches/?tenant=acme"' in staff.get("/tenants/acme/").content.decode()
    assert (
        'href="/batches/?tenant=acme"' in world.client(Role.TENANT_VIEWER, acme).get("/tenants/acme/").content.decode()
    )
