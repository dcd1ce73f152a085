"""The pages of batches in a browser: how they fit, and how they are reached."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from jobops.batches.models import Batch
from jobops.engine.records import Outcome
from tenants.models import Tenant
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import problems
from tests.web.world import World

pytestmark = pytest.mark.look

BOXES = "found => found.map(each => { const r = each.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })"

LINES = (
    """found => found.map(getComputedStyle).map(each => [each.borderLeftWidth, each.borderTopWidth].map(parseFloat))"""
)


def batches(world: World) -> list[str]:
    """One that runs, and one that is stuck with nothing more to come; their ids."""
    acme = world.tenant("acme", cap=None)
    usual = {"tenant": "acme", "tenant_uid": str(acme.pk), "name": "Nightly import of the whole catalogue 2026-11-30"}
    Batch.objects.create(id="runs", state="running", total=40, **usual)
    Batch.objects.create(id="stuck", state="stuck", total=1, dead=1, then_job="shop.jobs.close_of_day", **usual)
    for _ in range(40):
        world.enqueue("acme", batch="runs")
    world.settle(world.claim(), Outcome.succeeded())
    world.letter(acme, batch="stuck")
    return ["runs", "stuck"]


def tiles(page: Page) -> list[list[float]]:
    """Where each figure stands: x, y, width, height."""
    return page.locator(".jlegend .hd").evaluate_all(BOXES)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("width", "columns"), [(320, 2), (390, 2), (960, 2), (1100, 4), (1440, 4)])
def test_the_figures_stand_in_columns_of_one_width(
    sign_in: SignIn, world: World, live_server: object, width: int, columns: int
) -> None:
    batches(world)
    page = sign_in(Role.ON_CALL)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{live_server}/batches/runs/")
    found = tiles(page)
    assert len(found) == 4
    widths = [each[2] for each in found]
    assert max(widths) - min(widths) < 1.5, widths
    rows = sorted({round(each[1]) for each in found})
    assert [sum(round(each[1]) == row for each in found) for row in rows] == [columns] * (4 // columns)
    legend = page.locator(".jlegend").evaluate_all(BOXES)[0]
    assert sum(widths) / len(rows) == pytest.approx(legend[2], abs=2), "they fill it"
    lines = page.locator(".jlegend .hd").evaluate_all(LINES)
    assert lines == [[float(place % columns > 0), float(place >= columns)] for place in range(4)], "a line between two"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("role", [Role.ON_CALL, Role.TENANT_VIEWER])
def test_they_fit_and_can_be_used_by_all(
    sign_in: SignIn, world: World, live_server: object, theme: str, role: Role
) -> None:
    ids = batches(world)
    page = sign_in(role, Tenant.objects.get())
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found = {}
    for url in ("/batches/", *(f"/batches/{each}/" for each in ids)):
        for width in (320, 390, 1240, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{url}")
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), url
            found[url, width] = problems(page)
    assert {place: faults for place, faults in found.items() if faults} == {}


@pytest.mark.parametrize("role", [Role.SUPERUSER, Role.ON_CALL, Role.TENANT_VIEWER])
def test_they_are_reached_from_the_bar_and_on_a_narrow_screen_from_the_menu(
    sign_in: SignIn, world: World, live_server: object, role: Role
) -> None:
    batches(world)
    page = sign_in(role, Tenant.objects.get())
    page.set_viewport_size({"width": 1240, "height": 800})
    entries = page.locator(".nav-l li").evaluate_all(BOXES)
    assert len({each[1] for each in entries}) == 1
    assert entries[-1][0] + entries[-1][2] <= page.locator(".top-r").evaluate_all(BOXES)[0][0], "they have their place"
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Batches").click()
    page.wait_for_url(f"{live_server}/batches/")
    expect(page.locator(".nav-l [aria-current=page]")).to_have_text("Batches")
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{live_server}/")
    page.locator("summary.who").click()
    page.locator(".menu-l").get_by_role("link", name="Batches").click()
    page.wait_for_url(f"{live_server}/batches/")
