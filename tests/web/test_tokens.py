"""HX-03, SE-04: nothing is changed without a valid token, and whoever has an old one is told so in few words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tenants.roles import Role
from tests.web.matrix import ACT, FOREIGN, OURS, OWN, RULES, Things, state_of_everything, things_of
from tests.web.world import World

ACTIONS = [name for name, rule in RULES.items() if rule.methods == ACT]
ROOT = Path(settings.BASE_DIR)


@pytest.fixture
def own(world: World) -> Things:
    world.tenant(FOREIGN)
    return things_of(world, world.tenant(OWN, may_pause=True, may_replay=True))


@pytest.mark.parametrize("name", [*ACTIONS, "sign-out", "login"])
def test_every_post_needs_its_token(world: World, own: Things, name: str) -> None:
    client = Client(enforce_csrf_checks=True)
    if name != "login":
        client.force_login(world.person(Role.SUPERUSER))
    before = state_of_everything()
    data = RULES[name].sends if name in RULES else {}
    answer = client.post(own.address(name), data, headers={"Referer": "http://testserver/tenants/acme/"})
    assert answer.status_code == 403
    assert "That page was out of date." in answer.content.decode()
    assert 'href="/tenants/acme/"' in answer.content.decode()
    assert state_of_everything() == before


@pytest.mark.parametrize("name", ACTIONS)
def test_a_form_of_before_the_second_sign_in_changes_nothing_and_a_fragment_gets_a_notice(
    world: World, own: Things, name: str
) -> None:
    person = world.person(Role.SUPERUSER)
    client = Client(enforce_csrf_checks=True)
    old = token_after_sign_in(client, person)
    assert token_after_sign_in(client, person) != old
    before = state_of_everything()
    data = RULES[name].sends | {"csrfmiddlewaretoken": old}
    answer = client.post(own.address(name), data, headers={"HX-Request": "true"})
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "That page was out of date." in text
    assert "<html" not in text
    assert "<nav" not in text
    assert len(text) < 1_000
    assert state_of_everything() == before


def token_after_sign_in(client: Client, person: User) -> str:
    person.set_password("correct horse battery staple")
    person.save()
    client.cookies.clear()
    form = client.get("/login/").content.decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
    assert found
    data = {"username": person.username, "password": "correct horse battery staple", "csrfmiddlewaretoken": found[1]}
    assert client.post("/login/", data).status_code == 302
    shown = client.get("/").content.decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', shown)
    assert found
    return found[1]


def test_whatever_a_template_sends_carries_the_token() -> None:
    """HX-03: plain forms hold the field; what ``hx-post`` sends is a form that holds it."""
    files = sorted((ROOT / "templates").rglob("*.html"))
    for file in files:
        text = file.read_text()
        assert not re.search(r"hx-(put|patch|delete)\b", text), file
        senders = re.findall(r"<[a-z]+\b[^>]*\bhx-post=[^>]*>", text.replace("%}", "").replace("->", ""))
        assert len(senders) == len(re.findall(r"\bhx-post\b", text)), file
        assert all('hx-include="closest form"' in sender for sender in senders), file
        assert not senders or "{% csrf_token %}" in text, file
        for form in re.findall(r"<form\b.*?</form>", text, re.DOTALL):
            if 'method="post"' in form:
                assert "{% csrf_token %}" in form, file
    assert any('method="post"' in file.read_text() for file in files)


def test_every_address_that_acts_is_known_here() -> None:
    assert {"login", "sign-out"} <= set(OURS)
    assert len(ACTIONS) >= 8
