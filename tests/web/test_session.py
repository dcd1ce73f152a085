"""Sign-in, sign-out, and what happens when a session ends."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tenants.roles import Role
from tests.web.world import World

PASSWORD = "correct horse battery staple"


@pytest.fixture
def ada(world: World) -> User:
    user = world.person(Role.ON_CALL)
    user.set_password(PASSWORD)
    user.save()
    return user


def sign_in(client: Client, user: User, following: str = "", password: str = PASSWORD) -> object:
    return client.post("/login/", {"username": user.username, "password": password, "next": following})


@pytest.mark.parametrize(
    "following",
    [
        "//evil.example",
        "https://evil.example",
        "http:evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "%2f%2fevil.example",
        "///evil.example",
        "/%09/evil.example\t",
        "\n//evil.example",
        "evil.example",
        "/live/overview/",
        "/login/?next=/login/",
        "",
    ],
)
def test_after_sign_in_only_a_page_of_this_site_is_next(ada: User, following: str) -> None:
    """SE-08."""
    answer = sign_in(Client(), ada, following)
    assert (answer.status_code, answer["Location"]) == (302, "/")  # type: ignore[attr-defined,index]


@pytest.mark.parametrize("following", ["/dlq/?page=2", "/tenants/acme/?find=a%20b", "/workers/"])
def test_after_sign_in_the_person_is_back_where_they_were(ada: User, following: str) -> None:
    """SE-08: a page of ours is kept, its query too."""
    assert sign_in(Client(), ada, following)["Location"] == following  # type: ignore[index]


def test_a_wrong_password_names_neither_the_name_nor_the_password(ada: User) -> None:
    answer = sign_in(Client(), ada, password="wrong")
    text = answer.content.decode()  # type: ignore[attr-defined]
    assert "User name and password do not match." in text
    assert 'aria-invalid="true"' in text
    unknown = Client().post("/login/", {"username": "nobody", "password": "wrong"}).content.decode()
    assert "User name and password do not match." in unknown


def test_many_wrong_passwords_close_the_name_for_a_while(ada: User, settings: Settings) -> None:
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = sign_in(client, ada, password="wrong")
    assert answer.status_code == 429  # type: ignore[attr-defined]
    assert "Too many wrong passwords" in answer.content.decode()  # type: ignore[attr-defined]
    assert sign_in(client, ada).status_code == 429  # type: ignore[attr-defined]


def test_sign_out_is_a_post_and_ends_the_session(world: World) -> None:
    client = world.client(Role.ON_CALL)
    assert client.get("/logout/").status_code == 405
    assert client.get("/").status_code == 200
    assert client.post("/logout/")["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_a_page_asked_for_without_a_session_comes_after_sign_in(world: World) -> None:
    answer = Client().get("/workers/?a=1")
    assert answer["Location"] == "/login/?next=%2Fworkers%2F%3Fa%3D1"
    assert Client().get("/")["Location"] == "/login/"


@pytest.mark.parametrize("url", ["/live/overview/?find=a", "/live/tenants/acme/", "/live/jobs/abc/", "/live/workers/"])
def test_a_poll_without_a_session_sends_the_whole_page_to_sign_in(world: World, url: str) -> None:
    """HX-01: never login markup inside a fragment; next is the page and not the fragment."""
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/tenants/acme/?find=a"}
    client = Client()
    client.cookies["sessionid"] = "of-a-session-that-is-gone"
    answer = client.get(url, headers=headers)
    assert answer.status_code == 401
    assert answer.content == b""
    assert answer["HX-Redirect"] == "/login/?next=%2Ftenants%2Facme%2F%3Ffind%3Da&ended=1"
    assert "Your session has ended" in client.get(answer["HX-Redirect"]).content.decode()


def test_a_poll_from_elsewhere_is_sent_home_after_sign_in(world: World) -> None:
    """HX-01, SE-08: the address that htmx reports is a request header like any other."""
    headers = {"HX-Request": "true", "HX-Current-URL": "https://evil.example/tenants/"}
    assert Client().get("/live/overview/", headers=headers)["HX-Redirect"] == "/login/"


def test_a_post_without_a_session_changes_nothing_and_comes_back_to_its_page(world: World) -> None:
    """HX-01."""
    tenant = world.tenant("acme")
    page = {"Referer": "http://testserver/tenants/acme/"}
    answer = Client().post("/tenants/acme/pause/", {"reason": "x"}, headers=page)
    assert answer["Location"] == "/login/?next=%2Ftenants%2Facme%2F"
    htmx = Client().post(
        "/tenants/acme/pause/",
        {"reason": "x"},
        headers={"HX-Request": "true", "HX-Current-URL": "http://testserver/tenants/acme/"},
    )
    assert (htmx.status_code, htmx["HX-Redirect"]) == (401, "/login/?next=%2Ftenants%2Facme%2F")
    tenant.refresh_from_db()
    assert not tenant.paused


def test_polls_do_not_keep_an_idle_session_alive_and_a_click_does(world: World, settings: Settings) -> None:
    """HX-04: limit 10 min, a poll each 30 s; after 11 min signed out. A real click extends."""
    settings.SESSION_COOKIE_AGE = 600
    start = timezone.now()
    with time_machine.travel(start, tick=False) as clock:
        client = world.client(Role.ON_CALL)
        assert client.get("/").status_code == 200
        for seconds in range(30, 600, 30):
            clock.move_to(start + timedelta(seconds=seconds))
            answer = client.get("/live/overview/", headers={"HX-Request": "true"})
            assert answer.status_code == 200
            assert "sessionid" not in answer.cookies
        clock.move_to(start + timedelta(minutes=11))
        assert client.get("/live/overview/", headers={"HX-Request": "true"}).status_code == 401
        assert client.get("/").status_code == 302

        client = world.client(Role.ON_CALL)
        assert client.get("/").status_code == 200
        clock.move_to(start + timedelta(minutes=20))
        assert "sessionid" in client.get("/tenants/").cookies
        clock.move_to(start + timedelta(minutes=29))
        assert client.get("/").status_code == 200


def test_pages_are_kept_in_no_cache(world: World) -> None:
    assert world.client(Role.ON_CALL).get("/")["Cache-Control"] == "no-store, private"


@pytest.mark.parametrize(
    ("zone", "shown"), [("Europe%2FBerlin", "Europe/Berlin"), ("../etc/passwd", "UTC"), ("", "UTC")]
)
def test_times_are_in_the_zone_that_the_viewers_browser_names(world: World, zone: str, shown: str) -> None:
    client = world.client(Role.ON_CALL)
    client.cookies["tz"] = zone
    assert f"Times are {shown}." in client.get("/").content.decode()


def test_a_chosen_theme_is_there_before_the_first_paint(world: World) -> None:
    client = world.client(Role.ON_CALL)
    assert "data-bs-theme" not in client.get("/").content.decode()
    client.cookies["theme"] = "dark"
    assert '<html lang="en" data-bs-theme="dark"' in client.get("/").content.decode()
    client.cookies["theme"] = '"><script>'
    assert "data-bs-theme" not in client.get("/").content.decode()
