"""A real Chromium on a real server of this project."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from jobops.engine.client import Engine
from jobops.web.selectors import reach, snapshot
from tests import tools
from tests.web.world import World

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PASSWORD = "correct horse battery staple"
SignIn = Callable[..., Page]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder drives a browser."""
    for item in items:
        if "tests/browser/" in item.nodeid:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser of this test process. Without Chromium the tests are skipped, visibly (see tests/conftest.py)."""
    path = tools.chromium()
    if path is None:
        pytest.skip("Chromium is not installed")
    # Playwright's loop runs in this thread; Django would take it for async code and refuse the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def world(transactional_db: None, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """An empty world, which the server's threads see too; each request reads it anew."""
    monkeypatch.setattr(snapshot, "KEEP_S", 0.0)
    monkeypatch.setattr(reach, "AWAY_S", 0.0)
    snapshot.forget()
    yield World(engine)
    snapshot.forget()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser without a past. Whatever the console complains about fails the test, refused styles among it."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, timezone_id="Europe/Berlin")
    context.set_default_timeout(10_000)
    complaints: list[str] = []
    context.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context
    context.close()
    expected = re.compile(r"Failed to load resource|net::ERR|^htmx: htmx:error: (timeout|Failed to fetch)")
    assert [text for text in complaints if not expected.search(text)] == []


@pytest.fixture
def sign_in(context: BrowserContext, live_server: object, world: World) -> SignIn:
    """``sign_in(role, tenant, next)``: a new person of this role signs in by the form and stands on that page."""

    def signed_in(role: object, tenant: object = None, following: str = "/") -> Page:
        user = world.person(role, tenant)  # type: ignore[arg-type]
        user.set_password(PASSWORD)
        user.save()
        page = context.new_page()
        page.goto(f"{live_server}{following}")
        page.get_by_label("User name").fill(user.username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{live_server}{following}")
        return page

    return signed_in
