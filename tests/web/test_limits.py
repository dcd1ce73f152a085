"""The page of limits, ``/limits/``, and what of it the overview and the tenants' pages tell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobops.audit.models import AuditEntry
from jobops.contracts import registry
from jobops.limits.models import LimitChange, Pause
from tenants.roles import Role
from tests.contracts.catalogs import declare
from tests.web.world import World

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def contracts() -> Iterator[None]:
    with registry.temporary_registry():
        declare(name="pay.invoice", resource="stripe", concurrency=2, rate="50/s")
        declare(name="mail.send")
        yield


def body(client: Client, url: str = "/limits/") -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def row(text: str, on: str) -> str:
    return " ".join(text[text.index(f'id="l-{on}"') :].partition("</tr>")[0].split())


def said(client: Client, url: str, **data: str) -> str:
    return client.post(url, data, follow=True).content.decode()


def audited() -> list[tuple[str, str]]:
    """Action and reason of what was done to limits."""
    rows = AuditEntry.objects.filter(target_kind__in=("all", "job_type", "resource")).order_by("pk")
    return list(rows.values_list("action", "reason"))


def fill(world: World, jobs: int = 3) -> None:
    world.engine.scripts.set_limit("stripe", 2, None)
    for _ in range(jobs):
        world.enqueue("acme", job_type="pay.invoice", resource="stripe")


def test_a_resource_has_its_row_with_what_runs_waits_and_who_declares_it(world: World) -> None:
    world.tenant("acme")
    world.tenant("rival")
    fill(world)
    for _ in range(3):
        world.enqueue("rival", job_type="pay.invoice", resource="stripe")
    world.claim()
    world.claim()
    with pytest.raises(AssertionError):
        world.claim()
    text = body(world.client(Role.STAFF_VIEWER))
    assert "<h1>4 jobs wait for resource stripe.</h1>" in text
    found = row(text, "resource:stripe")
    assert 'aria-label="2 of 2 running"' in found
    assert '<span class="of"> / 2</span>' in found
    assert "50 a second" in found
    assert "At its limit" in found
    assert 'data-l="Waiting">4<' in found
    assert 'href="/tenants/acme/">acme</a> 2' in found
    assert 'href="/tenants/rival/">rival</a> 2' in found
    assert "/catalog/#t-pay.invoice" in found
    assert "not in force yet" in found, "Redis was told of no rate"


def test_pause_and_resume_with_a_reason(world: World) -> None:
    client = world.client(Role.ON_CALL)
    assert "Resource stripe is paused." in said(client, "/limits/pause/", on="resource:stripe", reason="429 everywhere")
    pause = Pause.objects.get()
    assert (pause.target, pause.name, pause.reason) == ("resource", "stripe", "429 everywhere")
    text = body(client)
    assert "<h1>Resource stripe is paused.</h1>" in text
    assert f"by {pause.paused_by} since" in row(text, "resource:stripe")
    assert "“429 everywhere”" in row(text, "resource:stripe")
    again = said(client, "/limits/pause/", on="resource:stripe", reason="me too")
    assert f"Nothing was changed: resource stripe is already paused by {pause.paused_by}" in again
    assert "Resource stripe is resumed." in said(client, "/limits/resume/", on="resource:stripe", reason="better")
    assert not Pause.objects.exists()
    assert audited() == [
        ("resource.pause", "429 everywhere"),
        ("resource.resume", "better"),
    ]
    assert "paused resource" in body(client, "/audit/")


def test_a_job_type_without_limits_can_be_chosen_and_paused(world: World) -> None:
    client = world.client(Role.OPERATOR)
    assert '<option value="type:mail.send">mail.send</option>' in body(client)
    chosen = body(client, "/limits/?on=type:mail.send")
    assert "Pause job type mail.send" in chosen
    assert '<input type="hidden" name="on" value="type:mail.send">' in chosen
    said(client, "/limits/pause/", on="type:mail.send", reason="x")
    assert "Paused" in row(body(client), "type:mail.send")


def test_limits_are_changed_and_reset_by_an_operator(world: World) -> None:
    client = world.client(Role.OPERATOR)
    form = body(client, "/limits/?on=resource:stripe")
    assert 'name="concurrency" inputmode="numeric" maxlength="9" value="2"' in form
    assert 'value="50/s"' in form
    changed = said(client, "/limits/set/", on="resource:stripe", concurrency="1", rate="", reason="they asked")
    assert "Resource stripe is limited." in changed
    found = row(body(client), "resource:stripe")
    assert "Changed by" in found
    assert "declared: 2 at once, starts at 50/s" in found
    assert "“they asked”" in found
    view = LimitChange.objects.get()
    assert (view.concurrency, view.rate) == (1, "")
    assert "Take the change back" in body(client, "/limits/?on=resource:stripe")
    said(client, "/limits/reset/", on="resource:stripe")
    assert not LimitChange.objects.exists()


@pytest.mark.parametrize(
    ("url", "data", "says"),
    [
        ("set", {"concurrency": "many", "reason": "x"}, "Concurrency: &#x27;many&#x27; must be a whole number"),
        ("set", {"concurrency": "0", "reason": "x"}, "Concurrency: 0 must be a whole number"),
        ("set", {"rate": "fast", "reason": "x"}, "Rate: &#x27;fast&#x27; is no rate"),
        ("set", {"concurrency": "1"}, "Reason: say why"),
        ("set", {"concurrency": "1", "reason": "x", "on": "all:"}, "Name: everything at once has no limit"),
        (
            "pause",
            {"on": "resource:strip", "reason": "x"},
            "no resource is called &#x27;strip&#x27;; did you mean stripe?",
        ),
        ("pause", {"on": "<script>", "reason": "x"}, "no job type or resource is called &#x27;&lt;script&gt;&#x27;"),
        ("reset", {}, "there is nothing to reset"),
        ("release", {}, "no brake is on at resource stripe"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(world: World, url: str, data: dict[str, str], says: str) -> None:
    client = world.client(Role.OPERATOR)
    assert says in said(client, f"/limits/{url}/", **{"on": "resource:stripe", **data})
    assert not Pause.objects.exists()
    assert not LimitChange.objects.exists()
    assert not audited()


def test_on_call_pauses_and_sees_why_not_more(world: World) -> None:
    client = world.client(Role.ON_CALL)
    text = body(client, "/limits/?on=resource:stripe")
    assert "As on call you may not change weights, caps and limits." in text
    assert client.post("/limits/set/", {"on": "resource:stripe", "concurrency": "1", "reason": "x"}).status_code == 403
    viewer = body(world.client(Role.STAFF_VIEWER), "/limits/?on=resource:stripe")
    assert "As staff viewer you may not pause or resume a job type, a resource or everything." in viewer


def test_the_overview_says_what_is_paused_by_whom_since_when_and_why(world: World) -> None:
    client = world.client(Role.OPERATOR)
    said(client, "/limits/pause/", on="type:mail.send", reason="wrong template")
    who = Pause.objects.get().paused_by
    text = body(client, "/")
    assert f"<b>Job type mail.send is paused</b> by {who} since" in text
    assert "“wrong template”" in text
    said(client, "/limits/pause/", on="all:", reason="moving")
    assert f"<b>Everything is paused</b> by {who} since" in body(client, "/")
    acme = world.tenant("acme")
    assert f"By {who} since" in body(client, "/tenants/acme/")
    own = world.client(Role.TENANT_ADMIN, acme)
    for url in ("/", "/tenants/acme/"):
        told = body(own, url)
        assert who not in told
        assert "/limits/" not in told


def test_redis_that_does_not_obey_yet_is_told(world: World) -> None:
    Pause.objects.create(target="all", paused_by="anna")
    assert "Not in force yet" in body(world.client(Role.OPERATOR))


def test_a_resource_that_no_contract_names_is_told(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme", resource="former")
    with pytest.raises(AssertionError):
        world.claim()
    found = row(body(world.client(Role.OPERATOR)), "resource:former")
    assert "Not known yet" in found
    assert "no contract names it" in found


def test_names_of_any_kind_are_text(world: World) -> None:
    Pause.objects.create(target="type", name="<b>x", paused_by="<i>anna", reason="<script>alert(1)</script>")
    for url in ("/limits/", "/", "/limits/?on=%3Cscript%3E"):
        text = body(world.client(Role.OPERATOR), url)
        assert "<script>alert" not in text
        assert "<i>anna" not in text


def test_the_number_of_queries_does_not_grow_with_the_rows(world: World) -> None:
    client = world.client(Role.OPERATOR)
    body(client)
    with CaptureQueriesContext(
        connection,
    ) as few:
        body(client)
    for n in range(30):
        Pause.objects.create(target="resource", name=f"r{n}", paused_by="anna")
        LimitChange.objects.create(resource=f"s{n}", concurrency=1, changed_by="anna")
    with CaptureQueriesContext(connection) as many:
        body(client)
    assert len(many) == len(few)


def test_a_tenants_rate_is_on_its_page_for_staff_and_for_its_people(world: World) -> None:
    acme = world.tenant("acme", rate="2/3s")
    assert "<dt>Rate</dt><dd>2/3s" in body(world.client(Role.STAFF_VIEWER), "/tenants/acme/")
    assert "At most 2 in 3\N{NO-BREAK SPACE}s start." in body(world.client(Role.TENANT_VIEWER, acme), "/tenants/acme/")
