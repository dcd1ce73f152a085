"""The audit in a browser: it can be used and read at every width, and filtered without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobops.audit import recording
from jobops.audit.recording import Change
from tenants.models import Tenant
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import WIDTHS, problems
from tests.web.world import World

pytestmark = pytest.mark.look


@pytest.fixture
def acme(world: World) -> Tenant:
    acme = world.tenant("acme-retail")
    letter = str(world.letter(acme).pk)
    whose = (acme.pk, "acme-retail")
    long = {"lane_caps": {"bulk": 3, "interactive": 40}, "name": "A name as long as names of companies are, Limited"}
    opened, replaying = {"state": "open"}, {"state": "replaying", "job": "a" * 60}
    changes = [
        ("olga", Change("tenant.set", "tenant", "acme-retail", *whose, {"cap": 5}, {"cap": 10, **long})),
        ("olga", Change("letter.replay", "letter", letter, *whose, opened, replaying)),
        ("command:" + "r" * 60, Change("worker.drain", "worker", "web-1.example.internal-4711-a3f")),
        ("scheduler", Change("policy.repair", "tenant", "acme-retail", *whose)),
        ("olga", Change("letter.discard", "letter", letter, *whose, opened, {"state": "discarded"}, "twice " * 60)),
        ("olga", Change("user.set", "user", "mia", before={"groups": []}, after={"groups": ["on call", "operator"]})),
    ]
    for by, change in changes:
        with recording.request():
            recording.record(by, change)
    return acme


def sideways(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_never_scrolls_sideways(
    world: World, acme: Tenant, sign_in: SignIn, scheme: str, live_server: object
) -> None:
    page = sign_in(Role.SUPERUSER, following="/audit/")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for query in ("", "?since=soon&who=olga", "?who=nobody"):
        page.goto(f"{live_server}/audit/{query}")
        assert problems(page) == [], query
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert sideways(page) <= 0, (query, width)


def test_a_filter_is_written_and_taken_off_again(world: World, acme: Tenant, sign_in: SignIn) -> None:
    page = sign_in(Role.OPERATOR, following="/audit/")
    page.locator("summary", has_text="Filter").press("Enter")
    page.locator("select[name=what]").select_option(label="replayed dead letter")
    page.get_by_role("button", name="Apply").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Remove filter What replayed dead letter").click()
    page.get_by_role("searchbox", name="Who").fill("scheduler")
    page.get_by_role("searchbox", name="Who").press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("put the limits of tenant acme-retail in force again")
    page.get_by_role("link", name="Remove filter Who scheduler").click()
    expect(page.locator("tbody tr")).to_have_count(7)
