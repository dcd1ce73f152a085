"""The overview, ``/``."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobops.engine.records import Outcome
from jobops.web.selectors import snapshot
from tenants.roles import Role
from tests.web.world import World


def body(client: Client, url: str = "/") -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_an_empty_system_says_so_and_how_to_go_on(world: World) -> None:
    text = body(world.client(Role.OPERATOR))
    assert "<h1>All is calm, and nothing is waiting.</h1>" in text
    assert "There are no tenants yet." in text


def test_waiting_jobs_without_a_worker_are_the_headline(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    assert "<h1>No worker is running, and 1 job waits.</h1>" in body(world.client(Role.ON_CALL))


def test_each_tenant_has_a_row_with_its_lanes_caps_and_dead_letters(world: World) -> None:
    acme = world.tenant("acme", cap=2)
    for _ in range(5):
        world.enqueue("acme")
    world.enqueue("acme", lane="interactive")
    world.settle(world.claim(), Outcome.succeeded())
    world.worker(busy=world.claim().id)
    world.letter(acme, due_at=timezone.now() - timedelta(minutes=1))
    world.letter(acme)
    text = body(world.client(Role.STAFF_VIEWER))
    row = text[text.index('id="t-acme"') :].partition("</tr>")[0]
    assert 'data-l="Bulk waiting">4<' in row.replace("\n", "") or 'data-l="Bulk waiting">5<' in row
    assert '<span class="of"> / 2</span>' in row
    assert 'data-l="Dead, to drain"><a class="q" href="/tenants/acme/#dead">2</a>' in row
    assert "One dead letter is past its deadline. Start with acme." in text


def test_a_find_shows_only_what_matches_and_survives_the_poll(world: World) -> None:
    world.tenant("acme")
    world.tenant("bluefin")
    client = world.client(Role.OPERATOR)
    text = body(client, "/?find=BLUE")
    assert 'id="t-bluefin"' in text
    assert 'id="t-acme"' not in text
    assert 'hx-get="/live/overview/?find=BLUE"' in text
    assert "Nothing matches “nobody”" in body(client, "/?find=nobody")


def test_calm_tenants_fold_into_one_sentence_and_rows_are_bounded(world: World) -> None:
    for index in range(130):
        world.tenant(f"t-{index:03}")
    client = world.client(Role.OPERATOR)
    folded = body(client)
    assert folded.count('<tr id="t-t-') == 13
    assert "117 more tenants are calm" in folded
    shown = body(client, "/?calm=1")
    assert shown.count('<tr id="t-t-') == 100
    assert body(client, "/?find=t-").count('<tr id="t-t-') == 50


def test_the_number_of_queries_does_not_grow_with_the_tenants(world: World) -> None:
    """UP-01, UP-04."""
    client = world.client(Role.OPERATOR)
    body(client)
    counts = []
    for start, end in ((0, 3), (3, 60)):
        for index in range(start, end):
            tenant = world.tenant(f"t-{index:03}")
            world.letter(tenant)
        with CaptureQueriesContext(connection) as queries:
            body(client)
        counts.append(len(queries))
    assert counts[0] == counts[1] < 18


def test_a_member_sees_their_own_tenants_and_no_word_of_the_machine(world: World) -> None:
    acme, _ = world.tenant("acme"), world.tenant("rival")
    world.enqueue("acme")
    for _ in range(3):
        world.enqueue("rival")
    world.letter(acme)
    text = body(world.client(Role.TENANT_VIEWER, acme))
    assert "<h1>1 waits its turn.</h1>" in text
    assert "rival" not in text
    assert "Worker" not in text
    assert ">1</span>" in text


def test_somebody_without_a_role_is_told_whom_to_ask(world: World) -> None:
    world.tenant("acme")
    text = body(world.client())
    assert "You do not belong to any tenant yet." in text
    assert "acme" not in text


def test_the_fragment_is_the_living_part_of_the_page_alone(world: World) -> None:
    world.tenant("acme")
    client = world.client(Role.OPERATOR)
    fragment = body(client, "/live/overview/")
    assert 'id="t-acme"' in fragment
    assert "<body" not in fragment
    assert "<title>Overview · jobops</title>" in fragment


def test_no_limit_is_one_word_everywhere(world: World) -> None:
    world.tenant("acme", cap=None)
    client = world.client(Role.STAFF_VIEWER)
    assert '<span class="of"> / none</span>' in body(client)
    assert '<span class="of"> / none</span>' in body(client, "/tenants/")
    assert '<span class="n0">none</span>' in body(client, "/tenants/")
    tenant = body(client, "/tenants/acme/")
    assert "cap <b>none</b>" in tenant
    assert tenant.count('data-l="Lane cap">none</td>') == 2


def test_a_phone_tells_one_lanes_oldest_job_from_the_others(world: World) -> None:
    world.tenant("acme")
    text = body(world.client(Role.STAFF_VIEWER))
    assert 'data-l="Bulk oldest"' in text
    assert 'data-l="Interactive oldest"' in text
    assert "once there were 20 starts" in text


def test_queues_that_nobody_serves_are_told(world: World) -> None:
    """RD-02: within two minutes; here at once, as nothing is remembered in tests."""
    world.tenant("acme")
    world.enqueue("acme")
    world.worker()
    world.engine.redis.sadd("rq:queues", "rq:queue:renamed")
    world.engine.redis.rpush("rq:queue:renamed", *map(str, range(50)))
    world.engine.scripts.set_lanes({"former": 1.0})
    world.enqueue("acme", lane="former")
    snapshot.forget()
    text = body(world.client(Role.ON_CALL))
    assert "50 jobs wait in queue renamed, which is no queue of a tenant and a lane here" in text
    assert "1 job waits in lane former, which JOBOPS_LANES no longer names, and no living worker serves it" in text
    assert "in lane bulk" not in text
    assert "renamed" not in body(world.client(Role.TENANT_ADMIN, world.tenant("other")))
