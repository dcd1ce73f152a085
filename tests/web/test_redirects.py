"""Redirects of renamed job types, ``/settings/redirects/``, and where letters, causes and replays speak of them."""

from __future__ import annotations

from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dlq.models import DeadLetter, Redirect
from jobops.audit.models import AuditEntry
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.causes import cause, letter_of
from tests.web.test_escaping import EVIL, assert_harmless
from tests.web.world import World

pytestmark = pytest.mark.usefixtures("send")
URL = "/settings/redirects/"
FORM = {"from_type": "pay.old", "to_type": "shop.jobs.send"}


def plain(content: bytes) -> str:
    """Without the places where a name may break."""
    return " ".join(unescape(content.decode()).replace("<wbr>", "").split())


def body(client: Client, url: str = URL) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, answer.content
    return plain(answer.content)


def old(world: World, acme: Tenant, count: int = 4, name: str = "pay.old") -> DeadLetter:
    group = cause(job_type=name)
    return [letter_of(world, group, acme) for _ in range(count)][-1]


def test_names_that_nobody_knows_can_be_led_somewhere(world: World, acme: Tenant) -> None:
    old(world, acme)
    client = world.client(Role.OPERATOR)
    text = body(client)
    assert "<h1>4 open dead letters are of a type that is not registered.</h1>" in text
    assert f'href="{URL}?from=pay.old"' in text
    assert 'value="pay.old" required' in body(client, f"{URL}?from=pay.old")
    shown = client.post(f"{URL}preview/", FORM)
    assert "4 open dead letters would be replayable." in shown.content.decode()
    assert not Redirect.objects.exists()
    fragment = client.post(f"{URL}preview/", FORM, headers={"HX-Request": "true"}).content.decode()
    assert "4 open dead letters would be replayable." in fragment
    assert "<html" not in fragment
    answer = client.post(f"{URL}add/", FORM | {"note": "renamed in May"}, follow=True)
    assert "Dead letters of pay.old are replayed as shop.jobs.send from now on." in answer.content.decode()
    text = body(client)
    assert "<h1>1 redirect, and each leads to a registered type.</h1>" in text
    assert "renamed in May" in text
    assert "had dead letters of <b>pay.old</b> replayed as another type" in body(
        world.client(Role.SUPERUSER), "/audit/"
    )


def test_letters_that_do_not_fit_are_counted_with_why(world: World, acme: Tenant) -> None:
    letter = old(world, acme)
    DeadLetter.objects.filter(pk=letter.pk).update(payload='{"args": [], "kwargs": {}}')
    text = plain(world.client(Role.STAFF_VIEWER).post(f"{URL}preview/", FORM).content)
    assert "3 of 4 open dead letters would be replayable." in text
    assert "1 would not: its arguments do not fit the job type of today" in text


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"to_type": "os.system"}, "The new type: os.system is not registered; choose a registered job type."),
        ({"from_type": "shop.jobs.send"}, "The old name: shop.jobs.send is registered"),
        ({"from_type": ""}, "The old name: must be the name that letters have"),
    ],
)
def test_what_is_no_redirect_is_said_and_the_form_kept(world: World, form: dict[str, str], said: str) -> None:
    answer = world.client(Role.OPERATOR).post(f"{URL}add/", FORM | {"note": "why"} | form)
    assert answer.status_code == 422
    assert f"Nothing was added. {said}" in unescape(answer.content.decode())
    assert 'value="why"' in answer.content.decode()
    assert not Redirect.objects.exists()


def test_one_is_removed_and_a_second_press_says_so(world: World) -> None:
    row = Redirect.objects.create(**FORM, by="x")
    client = world.client(Role.OPERATOR)
    for said in ("Dead letters of pay.old are led nowhere any more.", "That redirect is not there any more."):
        assert said in client.post(f"{URL}{row.pk}/delete/", follow=True).content.decode()
    assert AuditEntry.objects.filter(action="redirect.delete").count() == 1


def test_one_without_effect_says_why(world: World) -> None:
    Redirect.objects.create(from_type="pay.old", to_type="pay.gone", by="x")
    Redirect.objects.create(from_type="shop.jobs.send", to_type="pay.gone", by="x")
    text = body(world.client(Role.STAFF_VIEWER))
    assert "2 redirects, 2 of them without effect." in text
    assert "without effect: pay.gone is not registered" in text
    assert "without effect: shop.jobs.send is registered again" in text


def test_a_letter_its_cause_and_a_replay_say_as_what_it_runs(world: World, acme: Tenant) -> None:
    letter = old(world, acme)
    client, member = world.client(Role.ON_CALL), world.client(Role.TENANT_ADMIN, acme)
    for url in (f"/dlq/{letter.pk}/", f"/dlq/groups/{letter.group_id}/"):
        assert f'href="{URL}?from=pay.old">Add a redirect to replay' in body(client, url)
    Redirect.objects.create(**FORM, by="ada")
    for url in (f"/dlq/{letter.pk}/", f"/dlq/groups/{letter.group_id}/"):
        assert "Replayed as <code>shop.jobs.send</code>." in body(client, url)
        assert "redirect" not in body(member, url)
    form = {"kind": "replay", "all": "1", "query": f"group={letter.group_id}"}
    draft = plain(client.post("/dlq/act/", form, follow=True).content)
    assert "Replayed as another type" in draft
    assert "<b>4</b> of <code>pay.old</code> replayed as <b><code>shop.jobs.send</code></b>" in draft
    with_own = letter_of(world, cause(), acme)
    assert "Replayed as" not in body(client, f"/dlq/{with_own.pk}/")


def test_a_page_costs_the_same_queries_however_many_there_are(world: World, acme: Tenant) -> None:
    client = world.client(Role.STAFF_VIEWER)
    counts = []
    for start, end in ((0, 3), (3, 30)):
        for number in range(start, end):
            Redirect.objects.create(from_type=f"old.{number}", to_type="shop.jobs.send", by="x")
            old(world, acme, 1, f"lost.{number}")
        body(client)
        with CaptureQueriesContext(connection) as queries:
            body(client)
        counts.append(len(queries))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("evil", EVIL)
def test_hostile_names_stay_text(world: World, acme: Tenant, evil: str) -> None:
    letter = old(world, acme, 1, evil)
    client = world.client(Role.OPERATOR)
    assert_harmless(client.get(URL).content.decode(), evil)
    assert_harmless(client.get(f"/dlq/{letter.pk}/").content.decode(), evil)
    client.post(f"{URL}add/", {"from_type": evil, "to_type": "shop.jobs.send", "note": evil})
    assert Redirect.objects.get().from_type == evil
    assert_harmless(client.get(URL).content.decode(), evil)
    assert_harmless(client.get(f"/dlq/groups/{letter.group_id}/").content.decode())
    assert_harmless(client.post(f"{URL}preview/", {"from_type": "x", "to_type": evil}).content.decode())
