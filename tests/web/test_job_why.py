"""Why a job is where it is, on its page: to staff all of it, to a tenant's people nothing that is not theirs."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from jobops.engine.records import Outcome, Policy
from jobops.limits.models import Pause
from jobops.runtime.why import why
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World


def body(client: Client, job_id: str) -> str:
    answer = client.get(f"/jobs/{job_id}/")
    assert answer.status_code == 200, answer.content
    return unescape(answer.content.decode())


def panel(client: Client, job_id: str) -> str:
    """The panel's text in one line."""
    found = re.search(r'<section class="panel o1" id="why".*?</section>', body(client, job_id), re.DOTALL)
    assert found is not None
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", found[0])).strip()


def cap(world: World, slug: str, most: int) -> None:
    world.engine.scripts.set_policy(Policy(slug, cap=most, version=2**52))


def test_the_page_says_what_the_command_says(world: World) -> None:
    world.tenant("acme")
    cap(world, "acme", 1)
    world.worker()
    holder, job = world.enqueue("acme"), world.enqueue("acme")
    world.claim()
    found = why(job)
    assert found is not None
    text = panel(world.client(Role.STAFF_VIEWER), job)
    for reason in found.reasons:
        assert reason.text in text
    assert text.startswith("Why it is not running Its tenant acme is at its cap: 1 of 1 of its jobs are running.")
    assert holder in text
    assert "worker-1.0" in text
    assert "When it starts is unknown: how long such jobs run was not measured yet." in text
    assert "What helps raise the cap of acme" in text
    assert 'href="/tenants/acme/">raise the cap of acme</a>' in body(world.client(Role.STAFF_VIEWER), job)


def test_jobs_that_end_need_no_reason(world: World) -> None:
    world.tenant("acme")
    job = world.enqueue("acme")
    world.settle(world.claim(), Outcome.succeeded())
    assert 'id="why"' not in body(world.client(Role.STAFF_VIEWER), job)


def test_a_running_job_says_where(world: World) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme")
    world.claim()
    assert "Where it is It is running on worker-1.0: attempt 1 of 5" in panel(world.client(Role.ON_CALL), job)
    own = panel(world.client(Role.TENANT_ADMIN, tenant), job)
    assert own.startswith("Where it is It is running.")
    assert "worker" not in own
    assert "lease" not in own


def test_a_tenants_people_read_of_no_other_tenant_nobody_of_ours_and_no_machine(world: World) -> None:
    """I9: with everything that can hold a job holding it."""
    tenant = world.tenant("acme")
    world.tenant("rival")
    world.engine.scripts.set_limit("stripe", 1, None)
    foreign = world.enqueue("rival", "rival.jobs.secret_plan", resource="stripe")
    world.claim()
    running = world.enqueue("acme", "acme.jobs.work")
    world.claim()
    world.enqueue("acme")
    job = world.enqueue("acme", resource="stripe")
    cap(world, "acme", 1)
    for gate in ("stripe", "type:shop.jobs.send"):
        world.engine.scripts.pause_gate(gate)
    world.engine.scripts.pause()
    world.engine.scripts.pause("acme")
    now = timezone.now()
    Tenant.objects.filter(slug="acme").update(
        paused=True, paused_by="anna", paused_by_staff=True, pause_reason="hold on"
    )
    for target, name in (("all", ""), ("type", "shop.jobs.send"), ("resource", "stripe")):
        Pause.objects.create(target=target, name=name, paused_by="anna", paused_at=now, reason="rival misbehaves")
    staff = panel(world.client(Role.OPERATOR), job)
    for shown in (
        "paused by anna",
        "rival misbehaves",
        "stripe",
        foreign,
        running,
        "worker-1.0",
        "No worker is running",
    ):
        assert shown in staff
    own = body(world.client(Role.TENANT_ADMIN, tenant), job)
    for hidden in ("anna", "rival", "stripe", foreign, "secret_plan", "worker-1.0", "No worker", "lane", "slot"):
        assert hidden not in re.sub(r'href="[^"]*"|class="[^"]*"', "", own.partition("<main")[2]), hidden
    text = panel(world.client(Role.TENANT_ADMIN, tenant), job)
    assert "Your jobs are paused by our team: “hold on”." in text
    assert "You may run only so many jobs at once, and 1 is running." in text
    assert running in text, "their own jobs they may see"
    assert "We cannot say when it starts." in text


def test_a_pause_by_one_of_their_own_names_that_person(world: World) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme")
    world.engine.scripts.pause("acme")
    Tenant.objects.update(paused=True, paused_by="cleo", paused_by_staff=False)
    assert "Your jobs are paused by cleo." in panel(world.client(Role.TENANT_VIEWER, tenant), job)


def test_who_stopped_it_and_why_is_not_for_the_tenants_people(world: World) -> None:
    tenant = world.tenant("acme")
    job = world.enqueue("acme")
    running = world.claim()
    world.engine.scripts.stop(job, note="stopped by anna: rival needs the room")
    staff, own = world.client(Role.ON_CALL), world.client(Role.TENANT_ADMIN, tenant)
    assert "It is being stopped by anna: rival needs the room." in panel(staff, job)
    assert "Our team is stopping it." in panel(own, job)
    world.settle(running, Outcome.failed("error", "E", "e"))
    assert "It was stopped by anna while it ran: rival needs the room." in panel(staff, job)
    assert body(staff, job).partition("<main")[2].count("rival needs the room") == 2, "there, and of the attempt"
    assert "<h1>send was stopped" in body(staff, job)
    assert "Stopped by our team" in body(own, job)
    for hidden in ("anna", "rival"):
        assert hidden in body(staff, job)
        assert hidden not in body(own, job)


def test_a_dropped_job_leads_to_the_one_that_took_its_place(world: World) -> None:
    tenant = world.tenant("acme")
    world.engine.scripts.set_policy(Policy("acme", cap=1, depth_limit=1, version=2**52))
    old, new = (world.enqueue("acme", key="k", on_full="drop_oldest") for _ in range(2))
    for role in (Role.ON_CALL, Role.TENANT_VIEWER):
        text = body(world.client(role, tenant), old)
        assert f'href="/jobs/{new}/">See that job</a>' in text
        assert "Dropped" not in text
    assert f"It gave way to job {new}" in panel(world.client(Role.ON_CALL), old)
    assert "A newer job that does the same took its place" in panel(world.client(Role.TENANT_VIEWER, tenant), old)


def test_what_helps_leads_to_where_it_is_done_and_names_the_command_elsewhere(world: World) -> None:
    tenant = world.tenant("acme")
    world.engine.scripts.pause_gate("stripe")
    world.engine.scripts.pause_gate("type:shop.jobs.send")
    job = world.enqueue("acme", resource="stripe")
    text = body(world.client(Role.OPERATOR), job)
    assert 'href="/limits/?on=type:shop.jobs.send#act">resume the job type shop.jobs.send</a>' in text
    assert 'href="/limits/?on=resource:stripe#act">resume the resource stripe</a>' in text
    assert "start a worker that serves the lane bulk: <code>manage.py worker --lanes bulk</code>" in text
    assert "What helps" not in body(world.client(Role.TENANT_ADMIN, tenant), job)


def test_holders_are_told_to_a_tenant_without_their_worker(world: World) -> None:
    tenant = world.tenant("acme")
    cap(world, "acme", 1)
    holder, job = world.enqueue("acme"), world.enqueue("acme")
    world.claim()
    own = panel(world.client(Role.TENANT_VIEWER, tenant), job)
    assert holder in own
    assert "worker-1.0" not in own


def test_what_a_checkpoint_holds_is_masked_as_arguments_are(world: World) -> None:
    """SE-06"""
    tenant = world.tenant("acme")
    job = world.enqueue("acme", checkpoint=b'{"token": "s3cret-value", "after": 118}')
    for client in (world.client(Role.ON_CALL), world.client(Role.TENANT_VIEWER, tenant)):
        text = body(client, job)
        assert "How far it got" in text
        assert "s3cret-value" not in text
    assert "s3cret-value" in body(world.client(Role.SUPERUSER), job)


def test_how_far_a_running_job_is(world: World) -> None:
    world.tenant("acme")
    job = world.enqueue("acme")
    running = world.claim()
    world.engine.scripts.save_progress(job, running.token, 118, 240)
    text = body(world.client(Role.STAFF_VIEWER), job)
    assert "118 of 240 done" in text
    assert '<rect class="c-mark" x="0" y="0" width="49"' in text


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.TENANT_VIEWER])
def test_a_job_that_waits_for_a_limit_has_its_words(world: World, role: Role) -> None:
    tenant = world.tenant("acme")
    world.engine.scripts.set_limit("stripe", 0, None)
    job = world.enqueue("acme", resource="stripe")
    assert world.engine.scripts.claim("s", 1, "w", ["bulk"], 0).job is None
    text = body(world.client(role, tenant), job)
    assert "Waiting for a limit" in text
    assert ("<h1>send waits for stripe, for " if role is Role.OPERATOR else "<h1>Send waits for its turn, for ") in text
    assert f'hx-get="/live/jobs/{job}/"' in text


def test_whatever_stands_in_a_reason_stays_text(world: World) -> None:
    """SE-01"""
    world.tenant("acme")
    job = world.enqueue("acme")
    Tenant.objects.update(paused=True, paused_by="<script>alert(1)</script>", pause_reason='"><img onerror=x>')
    world.engine.scripts.pause("acme")
    raw = world.client(Role.OPERATOR).get(f"/jobs/{job}/").content.decode()
    assert "<script>alert" not in raw
    assert "<img" not in raw
