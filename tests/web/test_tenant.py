"""A tenant's page, ``/tenants/<slug>/``."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from jobops.engine.records import Outcome
from tenants.roles import Role
from tests.web.world import World


def body(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_staff_see_queues_running_and_waiting_jobs_letters_and_limits(world: World) -> None:
    acme = world.tenant("acme", cap=3, weight=2.5, lane_caps={"bulk": 2}, depth_limit=100)
    for _ in range(4):
        world.enqueue("acme", "shop.jobs.export")
    running = world.claim()
    world.letter(acme, due_at=timezone.now() - timedelta(minutes=33), job_type="shop.jobs.invoice")
    text = body(world.client(Role.STAFF_VIEWER), "/tenants/acme/")
    assert "acme.bulk" in text
    assert f'href="/jobs/{running.id}/"' in text
    assert "worker-1.0" in text
    assert "shop.jobs.invoice" in text
    assert "33\N{NO-BREAK SPACE}min late" in text
    assert "2 at once" in text
    assert "100 waiting" in text
    assert "<b>2.5</b>" in text


def test_a_job_that_waits_for_a_limit_is_listed_with_those_that_wait(world: World) -> None:
    world.tenant("acme")
    world.engine.scripts.set_limit("stripe", 0, None)
    held = world.enqueue("acme", resource="stripe")
    queued = world.enqueue("acme")
    assert world.claim().id == queued
    text = body(world.client(Role.OPERATOR), "/tenants/acme/")
    assert f'href="/jobs/{held}/"' in text
    assert "Nothing waits." not in text


def test_the_tenants_people_read_plain_words_and_nothing_of_the_machine(world: World) -> None:
    acme = world.tenant("acme", cap=3)
    world.enqueue("acme", "shop.jobs.export_orders")
    world.enqueue("acme", "shop.jobs.send_invoice")
    world.claim()
    world.letter(acme, error="column “price” is missing", owner="catalogue-team", error_class="ValueError")
    text = body(world.client(Role.TENANT_ADMIN, acme), "/tenants/acme/")
    assert "<h1>1 of your jobs is running and 1 waits its turn.</h1>" in text
    assert "You may run 3 jobs at once, and 1 is running. 1 waits its turn. 1 did not work." in text
    assert "Export orders" in text
    assert "Send invoice" in text
    assert "It ended with: <q>column “price” is missing</q>. Tried" in text
    for hidden in ("worker-1.0", "catalogue-team", "ValueError", "host-1", "dead letter", "Dead letter"):
        assert hidden not in text


def test_a_job_whose_hash_names_another_tenant_is_not_shown(world: World) -> None:
    world.tenant("acme")
    job = world.enqueue("acme")
    world.engine.redis.hset(f"rq:job:{job}", "jo_tenant", "rival")
    assert job not in body(world.client(Role.OPERATOR), "/tenants/acme/")


def test_the_page_of_a_tenant_that_was_made_a_moment_ago_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobops.web.selectors import snapshot

    client = world.client(Role.OPERATOR)
    monkeypatch.setattr(snapshot, "KEEP_S", 60.0)
    body(client, "/")
    world.tenant("young")
    assert "<h1>young is calm: 0 running, 0 waiting.</h1>" in body(client, "/tenants/young/")


def test_lists_of_jobs_are_bounded(world: World) -> None:
    world.tenant("acme")
    for _ in range(30):
        world.enqueue("acme")
    assert body(world.client(Role.OPERATOR), "/tenants/acme/").count('<tr id="j-') == 5


@pytest.mark.parametrize("form", [{"reason": ""}, {}, {"reason": "   "}])
def test_a_pause_needs_a_reason_and_says_so(world: World, form: dict[str, str]) -> None:
    tenant = world.tenant("acme")
    client = world.client(Role.ON_CALL)
    answer = client.post("/tenants/acme/pause/", form, follow=True)
    assert "Nothing was changed. Reason: say why" in answer.content.decode()
    tenant.refresh_from_db()
    assert not tenant.paused


@pytest.mark.django_db(transaction=True)
def test_pause_and_resume_reach_the_engine_and_name_who_and_why(transactional_db: None, world: World) -> None:
    tenant = world.tenant("acme")
    client = world.client(Role.ON_CALL)
    text = client.post("/tenants/acme/pause/", {"reason": "a <b>flood</b>"}, follow=True).content.decode()
    assert "acme is paused." in text
    assert "a &lt;b&gt;flood&lt;/b&gt;" in text
    assert world.engine.scripts.policy("acme").paused  # type: ignore[union-attr]
    tenant.refresh_from_db()
    assert tenant.paused_by.startswith("on call")
    text = client.post("/tenants/acme/resume/", follow=True).content.decode()
    assert "acme is resumed." in text
    assert not world.engine.scripts.policy("acme").paused  # type: ignore[union-attr]


def test_a_tenants_admin_pauses_only_where_its_settings_let_them(world: World) -> None:
    mine = world.tenant("mine", may_pause=True)
    theirs = world.tenant("theirs", may_pause=False)
    allowed = world.client(Role.TENANT_ADMIN, mine)
    refused = world.client(Role.TENANT_ADMIN, theirs)
    assert 'id="pause-form"' in body(allowed, "/tenants/mine/")
    assert allowed.post("/tenants/mine/pause/", {"reason": "audit"}).status_code == 302
    shown = body(refused, "/tenants/theirs/")
    assert 'aria-disabled="true"' in shown
    assert "pause-form" not in shown
    answer = refused.post("/tenants/theirs/pause/", {"reason": "audit"})
    assert answer.status_code == 403
    assert "only where the tenant" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_pause_by_staff_is_told_to_the_tenants_people_and_is_not_theirs_to_lift(
    transactional_db: None, world: World
) -> None:
    mine = world.tenant("mine", may_pause=True)
    staff, admin = world.client(Role.ON_CALL), world.client(Role.TENANT_ADMIN, mine)
    staff.post("/tenants/mine/pause/", {"reason": "incident 7"})
    text = body(admin, "/tenants/mine/")
    assert "Paused by our team at" in text
    assert "incident 7" in text
    assert 'aria-disabled="true"' in text
    assert "Our team paused this, so only our team can resume it." in text
    assert 'id="resume-form"' not in text
    answer = admin.post("/tenants/mine/resume/")
    assert answer.status_code == 403
    assert "only our team can resume it" in answer.content.decode()
    again = admin.post("/tenants/mine/pause/", {"reason": "ours"}, follow=True).content.decode()
    assert "Nothing was changed: mine is already paused by our team since" in again
    mine.refresh_from_db()
    assert (mine.paused, mine.pause_reason) == (True, "incident 7")
    again = staff.post("/tenants/mine/pause/", {"reason": "also"}, follow=True).content.decode()
    assert ": incident 7." in again
    staff.post("/tenants/mine/resume/")
    assert (
        "Nothing was changed: mine is not paused." in staff.post("/tenants/mine/resume/", follow=True).content.decode()
    )


def test_a_command_that_paused_is_our_team_to_a_tenants_people(world: World) -> None:
    mine = world.tenant("mine", paused=True, paused_by="command:root", paused_by_staff=True, pause_reason="moving")
    text = body(world.client(Role.TENANT_VIEWER, mine), "/tenants/mine/")
    assert "Paused by our team." in text
    assert "command:root" not in text
    assert "Paused by command:root" in body(world.client(Role.STAFF_VIEWER), "/tenants/mine/")


def test_everything_paused_is_said_on_every_tenants_page(world: World) -> None:
    acme = world.tenant("acme")
    world.enqueue("acme")
    world.engine.scripts.pause(None)
    assert "Everything is paused." in body(world.client(Role.TENANT_VIEWER, acme), "/tenants/acme/")
    assert "<h1>Everything is paused; 1 job waits.</h1>" in body(world.client(Role.OPERATOR), "/")


def test_a_finished_job_counts_in_the_last_minutes(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    world.settle(world.claim(), Outcome.succeeded())
    text = body(world.client(Role.OPERATOR), "/tenants/acme/")
    assert "<dt>Succeeded</dt><dd>1</dd>" in text
