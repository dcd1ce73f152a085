"""Discard reasons and retention in a browser: edited without a mouse, readable at every width and in both themes."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dlq.discard_reasons import reason_add, reason_retire, reasons_offered
from dlq.purging import purge_due
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import WIDTHS, problems
from tests.dlq.letters import letter
from tests.web.world import World

pytestmark = pytest.mark.look

SHOTS = os.environ.get("KEEPING_SHOTS", "")


@pytest.fixture(autouse=True)
def things(world: World) -> None:
    """Letters of teams that go on many days, a purge that was, and reasons with long words."""
    acme, now = world.tenant("acme-retail"), timezone.now()
    for number, team in enumerate(("payments", "billing", "a-team-with-a-name-as-long-as-teams-have-them-anywhere")):
        for days in range(23, 33 - number):
            for _ in range(1 + days % (3 + number)):
                letter(acme, owner=team, state="discarded", drained_at=now - timedelta(days=days))
    letter(acme, due_at=now + timedelta(hours=1))
    purge_due(limit=2)
    reason_add(text="w" * 100, by="tests")
    reason_add(text="Will never be needed by anybody", by="tests")
    reason_retire(text="No longer needed", by="tests")


def test_a_reason_is_added_moved_and_chosen_by_keys(sign_in: SignIn) -> None:
    page = sign_in(Role.OPERATOR, following="/settings/reasons/")
    page.get_by_label("In a few words").fill("Customer left")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("It is in the list now.")
    for _ in range(5):
        place = reasons_offered().index("Customer left")
        page.get_by_role("button", name="Move up: Customer left").press("Enter")
        above = page.get_by_role("main").get_by_role("listitem").nth(place - 1)
        expect(above.get_by_role("textbox")).to_have_value("Customer left")
    assert reasons_offered()[0] == "Customer left"
    expect(page.get_by_role("button", name="Move up: Customer left")).to_have_attribute("aria-disabled", "true")
    page.get_by_role("textbox", name="Fixed by hand", exact=True).fill("Mended by hand")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("It is renamed")
    page.get_by_role("button", name="Retire Mended by hand").click()
    expect(page.get_by_role("button", name="Offer again Mended by hand")).to_be_visible()


def test_a_day_of_retention_leads_to_its_letters(sign_in: SignIn) -> None:
    page = sign_in(Role.STAFF_VIEWER, following="/settings/retention/")
    row = page.get_by_role("row", name="payments")
    link = row.get_by_role("link").nth(2)
    many = int(link.inner_text())
    link.click()
    expect(page.get_by_role("link", name="Remove filter Drained")).to_be_visible()
    expect(page.locator("tr[id^=d-]")).to_have_count(many)


@pytest.mark.parametrize("url", ["/settings/reasons/", "/settings/retention/", "/settings/"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_never_scrolls_sideways(sign_in: SignIn, scheme: str, url: str) -> None:
    page = sign_in(Role.OPERATOR, following=url)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert problems(page) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        if SHOTS and width in (390, 960, 1440):
            name = url.strip("/").rpartition("/")[2]
            page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png", full_page=True)
