"""SE-04: every URL, every role, every method. The URLs come from the resolver, so that a new one cannot escape."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from tenants.models import Tenant
from tenants.roles import Role
from tests.web.matrix import (
    ACT,
    FOREIGN,
    METHODS,
    MISSING,
    OURS,
    OWN,
    PUBLIC,
    RULES,
    SIGNED_IN,
    Things,
    state_of_everything,
    things_of,
)
from tests.web.world import World

pytestmark = pytest.mark.rights
ACTIONS = [name for name, rule in RULES.items() if rule.methods == ACT]
NAMING = [name for name, path in OURS.items() if "<" in path]


@pytest.fixture
def own(world: World) -> Things:
    world.tenant(FOREIGN, may_replay=True)
    return things_of(world, world.tenant(OWN, may_pause=True, may_replay=True))


@pytest.fixture
def acme(own: Things) -> Tenant:
    return Tenant.objects.get(slug=OWN)


def send(client: Client, method: str, url: str, name: str, **headers: Any) -> Any:
    data = RULES[name].sends if method == "post" else None
    return getattr(client, method)(url, data, headers=headers)


def test_no_url_is_without_a_rule() -> None:
    assert set(OURS) == set(RULES) | PUBLIC | SIGNED_IN
    assert all(path.startswith("live/") == name.startswith("live-") for name, path in OURS.items())


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_role_gets_exactly_what_the_table_says(world: World, own: Things, acme: Tenant, name: str) -> None:
    """And who may not act changes nothing."""
    rule, url = RULES[name], own.address(name)
    for role, code in rule.codes.items():
        client = world.client(Role(role) if role else None, acme)
        refused = [method for method in METHODS if method not in rule.methods or code in (403, 404)]
        before = state_of_everything()
        for method in refused:
            answer = send(client, method, url, name)
            assert answer.status_code == (code if method in rule.methods else 405), (name, role, method)
        assert state_of_everything() == before, (name, role)
        for method in set(METHODS) - set(refused):
            assert send(client, method, url, name).status_code == code, (name, role, method)


@pytest.mark.parametrize("name", sorted(RULES))
def test_looking_changes_nothing(world: World, own: Things, name: str) -> None:
    before = state_of_everything()
    client = world.client(Role.SUPERUSER)
    for method in ("get", "head", "options"):
        getattr(client, method)(own.address(name))
    assert state_of_everything() == before


@pytest.mark.parametrize("name", sorted(RULES))
def test_nobody_gets_in_without_a_session_by_any_method(own: Things, name: str) -> None:
    before = state_of_everything()
    for method in METHODS:
        answer = send(Client(), method, own.address(name), name)
        assert answer.status_code == 302, (name, method)
        assert answer["Location"].startswith("/login/"), (name, method)
    assert state_of_everything() == before


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_fragment_is_never_the_sign_in_page(own: Things, name: str) -> None:
    """HX-01: for the polls, and for anything else that htmx may ask for."""
    answer = Client().get(own.address(name), headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/dlq/"})
    assert answer.status_code == 401
    assert answer.content == b""
    assert answer["HX-Redirect"] == "/login/?next=%2Fdlq%2F"


@pytest.mark.parametrize("role", [Role.TENANT_ADMIN, Role.TENANT_VIEWER])
@pytest.mark.parametrize("name", NAMING)
def test_what_is_foreign_answers_exactly_as_what_does_not_exist(
    world: World, acme: Tenant, role: Role, name: str
) -> None:
    """I9, SE-05: the same status, headers and bytes, on pages, fragments and actions alike."""
    foreign_things = things_of(world, Tenant.objects.get(slug=FOREIGN))
    method = "post" if RULES[name].methods == ACT else "get"
    client = world.client(role, acme)
    before = state_of_everything()
    # The referring page is what an answer may lead back to.
    same = {"X-Request-ID": "same", "Referer": "http://testserver/dlq/"}
    foreign = send(client, method, foreign_things.address(name), name, **same)
    missing = send(client, method, MISSING.address(name), name, **same)
    assert foreign.status_code == missing.status_code
    assert foreign.status_code in (403, 404)
    assert without_token(foreign.content) == without_token(missing.content)
    assert dict(foreign.headers) == dict(missing.headers)
    assert state_of_everything() == before


def without_token(content: bytes) -> bytes:
    return re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", content)


def test_navigation_leads_only_where_the_person_gets_an_answer(world: World, acme: Tenant) -> None:
    for role in (None, *Role):
        client = world.client(role, acme)
        links = set(re.findall(r'href="(/[^"#]*)"', client.get("/").content.decode())) - {"/"}
        for link in links:
            if not link.startswith("/static/"):
                assert client.get(link).status_code == 200, (role, link)
