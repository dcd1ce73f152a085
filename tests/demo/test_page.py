"""The demo's page, ``/demo/``: staff see the customers' servers; whoever may replay mends and breaks them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.test import Client

from jobops.audit.models import AuditEntry
from jobops.demo import control, jobs
from jobops.demo.places import Places
from jobops.demo.receiver import CONTROL_HEADER, Desk
from jobops.web.selectors import snapshot
from tenants.roles import Role
from tests.demo.test_jobs import order
from tests.web.world import World


@pytest.fixture
def world(db: None, engine: object) -> Iterator[World]:
    snapshot.forget()
    yield World(engine)  # type: ignore[arg-type]
    snapshot.forget()


def shown(client: Client) -> str:
    answer = client.get("/demo/")
    assert answer.status_code == 200
    return answer.content.decode()


def test_its_last_step_leads_to_what_this_person_did(world: World, desk: Desk) -> None:
    user = world.person(Role.ON_CALL)
    client = Client()
    client.force_login(user)
    for url in ("/demo/", "/live/demo/"):
        assert f'href="/audit/?who={quote(user.get_username())}"' in client.get(url).content.decode(), url


def test_mending_the_provider_is_what_lets_payments_through(world: World, desk: Desk) -> None:
    order(1)
    acme = world.tenant("acme-retail")
    world.letter(acme, job_type="billing.capture_payment")
    client = world.client(Role.ON_CALL)
    desk.set_mode("payments", "broken")
    with pytest.raises(urllib.error.HTTPError, match="503"):
        jobs.capture_payment(shop="acme-retail", order=1, card_token="tok_1")
    text = shown(client)
    assert "<h1>The payment provider is down; 1 payment waits as a dead letter.</h1>" in text
    assert "1 × 503" in text
    answer = client.post("/demo/payments/mend/", follow=True).content.decode()
    assert "payments is mended. What died of it can be replayed now." in answer
    assert "<h1>Every server is up; 1 payment waits as a dead letter.</h1>" in answer
    assert jobs.capture_payment(shop="acme-retail", order=1, card_token="tok_1") == 200
    row = AuditEntry.objects.get(action="demo.mend")
    assert (row.target_id, row.before, row.after) == ("payments", {"mode": "broken"}, {"mode": "mended"})
    client.post("/demo/payments/break/")
    with pytest.raises(urllib.error.HTTPError, match="503"):
        jobs.capture_payment(shop="acme-retail", order=1, card_token="tok_1")


def test_a_mended_server_forgets_its_nature_and_a_broken_one_too(world: World, desk: Desk) -> None:
    assert desk.hook("old-shop", b"{}")[0] == 410
    for name in ("old-shop", "tax-office", "crm"):
        assert desk.set_mode(name, "mended")
        assert {desk.hook(name, b"{}")[0] for _ in range(5)} == {200}
        assert desk.set_mode(name, "broken")
        assert desk.hook(name, b"{}")[0] == 503
    assert not desk.set_mode("nobody", "mended")
    assert not desk.set_mode("crm", "asleep")


@pytest.mark.parametrize("role", [Role.TENANT_ADMIN, Role.TENANT_VIEWER, None])
def test_it_is_for_staff_only_and_says_so(world: World, desk: Desk, role: Role | None) -> None:
    acme = world.tenant("acme", may_replay=True)
    client = world.client(role, acme)
    acts = ("/demo/payments/break/", "/demo/incident/")
    for answer in (client.get("/demo/"), client.get("/live/demo/"), *map(client.post, acts)):
        assert answer.status_code == 403
        assert ("You have no role here." if role is None else "This is for our team only.") in answer.content.decode()
    assert "/demo/" not in client.get("/").content.decode()
    assert desk.control()["payments"]["mode"] == "usual"
    assert AuditEntry.objects.filter(target_kind="demo").count() == 0


def test_staff_who_may_not_replay_look_at_it_and_read_why_they_cannot_press(world: World, desk: Desk) -> None:
    client = world.client(Role.STAFF_VIEWER)
    why = "Only those who may replay dead letters let it go wrong, and mend and break servers."
    text = shown(client)
    assert why in text
    assert text.count('aria-disabled="true"') == 13, "six servers to mend or break, and what goes wrong"
    assert "/mend/" not in text
    assert 'action="/demo/incident/"' not in text
    for act in ("payments/break", "incident"):
        answer = client.post(f"/demo/{act}/")
        assert answer.status_code == 403
        assert why in answer.content.decode()
    assert desk.control()["payments"]["mode"] == "usual"
    assert '"/demo/"' in client.get("/").content.decode()


def test_without_the_servers_it_says_how_to_start_them(world: World, places: Places) -> None:
    client = world.client(Role.OPERATOR)
    assert "start the demo with make demo" in shown(client)
    assert "Nothing was changed." in client.post("/demo/payments/mend/", follow=True).content.decode()
    assert "Nothing was sent." in client.post("/demo/incident/", follow=True).content.decode()
    assert AuditEntry.objects.filter(target_kind="demo").count() == 0


def test_a_server_that_is_not_there_is_not_found_and_a_get_changes_nothing(world: World, desk: Desk) -> None:
    client = world.client(Role.OPERATOR)
    assert client.post("/demo/nobody/mend/").status_code == 404
    assert client.get("/demo/payments/mend/").status_code == 405


def test_another_sites_page_cannot_change_a_server(world: World, desk: Desk, places: Places) -> None:
    """A browser sends a form anywhere, but no header of its own."""
    url = f"{places.services().receiver_url}/control/payments/mended"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(url, data=b"", method="POST"), timeout=5)
    assert desk.control()["payments"]["mode"] == "usual"
    request = urllib.request.Request(url, data=b"", method="POST", headers={CONTROL_HEADER: "1"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(f"{places.services().receiver_url}/control", timeout=5) as answer:
        assert json.loads(answer.read())["payments"]["mode"] == "mended"
    assert control.servers()[-1].mode == "mended"


@pytest.mark.parametrize("deaths", ["29", "5001", "-30", "many", "", "٣٠", "9" * 30])
def test_how_many_must_be_a_number_that_is_offered(world: World, desk: Desk, deaths: str) -> None:
    answer = world.client(Role.ON_CALL).post("/demo/incident/", {"deaths": deaths}, follow=True).content.decode()
    assert "Nothing was sent. How many is to be a whole number from 30 to 5,000." in answer
    assert desk.control()["payments"]["mode"] == "usual"


def test_it_goes_wrong_at_the_press_of_a_button(world: World, desk: Desk) -> None:
    world.tenant("orchid-media")
    for number in range(1, 61):
        order(number, shop="orchid-media", vat_id="")
    client = world.client(Role.ON_CALL)
    assert 'value="3000"' in shown(client)
    answer = client.post("/demo/incident/", {"deaths": "60"}, follow=True).content.decode()
    assert "payments is broken. 60 jobs of three kinds run now, and will die: it takes a minute or two." in answer
    assert "<h1>The payment provider is down.</h1>" in answer
    assert "0 of 60 died so far" in answer
    assert "Let it go wrong again" in answer
    assert AuditEntry.objects.get(action="demo.incident").target_id == "60"
    assert client.get("/demo/incident/").status_code == 405
