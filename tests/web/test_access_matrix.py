"""SE-04: every URL, every role, every method. The URLs come from the resolver, so that a new one cannot escape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from tenants.models import Tenant
from tenants.roles import Role
from tests.web.world import World

METHODS = ("get", "post", "put", "patch", "delete")
FOREIGN, OWN = "rival", "acme"

# Who gets what at a page: 200, 403 (their role does not allow it), 404 (it does not exist for them).
EVERYBODY = {
    None: 200,
    "superuser": 200,
    "operator": 200,
    "on call": 200,
    "staff viewer": 200,
    "tenant admin": 200,
    "tenant viewer": 200,
}
STAFF = {
    None: 403,
    "superuser": 200,
    "operator": 200,
    "on call": 200,
    "staff viewer": 200,
    "tenant admin": 403,
    "tenant viewer": 403,
}
STAFF_OR_OWN = {
    None: 404,
    "superuser": 200,
    "operator": 200,
    "on call": 200,
    "staff viewer": 200,
    "tenant admin": 200,
    "tenant viewer": 200,
}
MAY_PAUSE = {
    None: 404,
    "superuser": 302,
    "operator": 302,
    "on call": 302,
    "staff viewer": 403,
    "tenant admin": 302,
    "tenant viewer": 403,
}

READ = {"get"}
ACT = {"post"}
# URL name → the methods it knows, who gets what. What is not here must be in PUBLIC or under a prefix of OTHERS.
PAGES: dict[str, tuple[set[str], dict[str | None, int]]] = {
    "overview": (READ, EVERYBODY),
    "tenants": (READ, EVERYBODY),
    "tenant": (READ, STAFF_OR_OWN),
    "tenant-pause": (ACT, MAY_PAUSE),
    "tenant-resume": (ACT, MAY_PAUSE),
    "dlq": (READ, EVERYBODY),
    "job": (READ, STAFF_OR_OWN),
    "workers": (READ, STAFF),
    "live-overview": (READ, EVERYBODY),
    "live-tenant": (READ, STAFF_OR_OWN),
    "live-job": (READ, STAFF_OR_OWN),
    "live-workers": (READ, STAFF),
}
PUBLIC = {"login", "alive", "ready"}
SIGNED_IN = {"sign-out"}
# Django's own admin has tests of its own; RQ's pages have theirs in test_rq_pages.
OTHERS = ("admin/", "rq/")


def patterns(resolver: URLResolver | None = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in (resolver or get_resolver()).url_patterns:
        path = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            yield from patterns(entry, path)
        else:
            yield path, entry


OURS = [(path, entry) for path, entry in patterns() if not path.startswith(OTHERS)]


@pytest.fixture
def acme(world: World) -> Tenant:
    world.tenant(FOREIGN)
    return world.tenant(OWN, may_pause=True)


def address(path: str, slug: str, job: str) -> str:
    return "/" + path.replace("<slug:slug>", slug).replace("<slug:job_id>", job)


def test_no_url_is_without_a_rule() -> None:
    names = {entry.name for _, entry in OURS}
    assert names == set(PAGES) | PUBLIC | SIGNED_IN
    assert all(path.startswith("live/") == str(entry.name).startswith("live-") for path, entry in OURS)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_role_gets_exactly_what_the_table_says(world: World, acme: Tenant, name: str) -> None:
    job = world.enqueue(OWN)
    path = next(path for path, entry in OURS if entry.name == name)
    methods, expected = PAGES[name]
    for role, code in expected.items():
        client = world.client(Role(role) if role else None, acme)
        for method in METHODS:
            answer = getattr(client, method)(address(path, OWN, job), {"reason": "x"} if method == "post" else None)
            assert answer.status_code == (code if method in methods else 405), (name, role, method)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_nobody_gets_in_without_a_session_by_any_method(world: World, acme: Tenant, name: str) -> None:
    path = next(path for path, entry in OURS if entry.name == name)
    url = address(path, OWN, world.enqueue(OWN))
    for method in METHODS:
        answer = getattr(Client(), method)(url)
        assert answer.status_code == 302, (name, method)
        assert answer["Location"].startswith("/login/"), (name, method)
    acme.refresh_from_db()
    assert not acme.paused


@pytest.mark.parametrize(
    "name", [name for name, (methods, _) in PAGES.items() if methods == ACT] + ["sign-out", "login"]
)
def test_every_post_needs_its_token(world: World, acme: Tenant, name: str) -> None:
    path = next(path for path, entry in OURS if entry.name == name)
    client = Client(enforce_csrf_checks=True)
    if name != "login":
        client.force_login(world.person(Role.SUPERUSER))
    answer = client.post(
        address(path, OWN, ""), {"reason": "x"}, headers={"Referer": "http://testserver/tenants/acme/"}
    )
    assert answer.status_code == 403
    assert "That page was out of date." in answer.content.decode()
    acme.refresh_from_db()
    assert not acme.paused


@pytest.mark.parametrize("role", [Role.TENANT_ADMIN, Role.TENANT_VIEWER])
@pytest.mark.parametrize("name", [name for name, (_, who) in PAGES.items() if who in (STAFF_OR_OWN, MAY_PAUSE)])
def test_what_is_foreign_answers_exactly_as_what_does_not_exist(
    world: World, acme: Tenant, role: Role, name: str
) -> None:
    """I9: the same status, headers and bytes, on pages, fragments and actions alike."""
    path = next(path for path, entry in OURS if entry.name == name)
    method = "post" if PAGES[name][0] == ACT else "get"
    foreign_job, no_job = world.enqueue(FOREIGN), "0" * 32
    client = world.client(role, acme)
    foreign = getattr(client, method)(address(path, FOREIGN, foreign_job), {"reason": "x"})
    missing = getattr(client, method)(address(path, "nobody", no_job), {"reason": "x"})
    assert foreign.status_code == missing.status_code == 404
    assert without_token(foreign.content) == without_token(missing.content)
    assert dict(foreign.headers) == dict(missing.headers)
    assert not Tenant.objects.get(slug=FOREIGN).paused


def without_token(content: bytes) -> bytes:
    import re

    return re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", content)


def test_navigation_leads_only_where_the_person_gets_an_answer(world: World, acme: Tenant) -> None:
    import re

    for role in (None, *Role):
        client = world.client(role, acme)
        links = set(re.findall(r'href="(/[^"#]*)"', client.get("/").content.decode())) - {"/"}
        for link in links:
            if not link.startswith("/static/"):
                assert client.get(link).status_code == 200, (role, link)
