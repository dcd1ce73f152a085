"""The drain report in a browser: it can be read at every width, in both themes, and narrowed without a mouse."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from dlq.clock.forecast import span_of
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import WIDTHS, problems
from tests.dlq.clock.clocks import group, spans
from tests.web.world import World

pytestmark = pytest.mark.look


@pytest.fixture(autouse=True)
def some_teams(world: World) -> None:
    acme, now = world.tenant("acme-retail"), timezone.now()
    for number, team in enumerate(
        ("billing", "exports", "a-team-with-a-name-as-long-as-teams-have-them-anywhere", "ops")
    ):
        title = f"{number} × 503 Service Unavailable from https://pay.example/v1/" + "charges" * 5
        due = now + timedelta(minutes=number * 40 - 40)
        cause = group(
            title=title, owner=team, job_type="shop.jobs.send_the_monthly_invoice", open=2 + number, due_at=due
        )
        spans(cause, {span_of(now): ((9, 0), (0, 90), (9, 1), (0, 0))[number]})
        for hours in range(1, 4 + number * 9):
            died = now - timedelta(hours=hours * 2)
            state = ("resolved", "resolved", "discarded", "open")[hours % 4]
            drained_at = None if state == "open" else now - timedelta(hours=hours)
            world.letter(
                acme, owner=team, group=cause, state=state, dead_at=died, due_at=died + timedelta(hours=9),
                sla_s=9 * 3600, drained_at=drained_at, drain_s=hours * 3611 if drained_at else None,
            )  # fmt: skip


def sideways(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_never_scrolls_sideways(sign_in: SignIn, scheme: str, live_server: object) -> None:
    page = sign_in(Role.STAFF_VIEWER, following="/dlq/report/")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    for query in ("", "?team=billing&period=30d", "?period=custom&from=2026-02-30&to=x", "?team=nobody"):
        page.goto(f"{live_server}/dlq/report/{query}")
        assert problems(page) == [], query
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert sideways(page) <= 0, (query, width)


def test_it_is_narrowed_to_a_team_and_to_days_and_back(sign_in: SignIn) -> None:
    page = sign_in(Role.STAFF_VIEWER, following="/dlq/report/")
    rows = page.locator(".rp tbody tr")
    expect(rows).to_have_count(4)
    page.get_by_role("link", name="30 days").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("in the last 30 days")
    page.get_by_role("link", name="billing", exact=True).press("Enter")
    expect(rows).to_have_count(1)
    today = f"{timezone.now():%Y-%m-%d}"
    page.get_by_label("From").fill(today)
    page.get_by_label("to", exact=True).fill(today)
    page.get_by_role("button", name="Show").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("billing")
    expect(page.get_by_role("link", name="30 days")).not_to_have_attribute("aria-current", "true")
    page.get_by_role("link", name="All teams again").press("Enter")
    expect(rows).to_have_count(4)


def test_the_file_is_downloaded(sign_in: SignIn) -> None:
    page = sign_in(Role.STAFF_VIEWER, following="/dlq/report/")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.suggested_filename.startswith("drain-report-")
