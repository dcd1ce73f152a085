"""Sign-in, sign-out, theme and zone in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.web.world import World

pytestmark = pytest.mark.look


def test_sign_in_leads_back_to_the_page_and_sign_out_ends_it(
    sign_in: SignIn, world: World, live_server: object
) -> None:
    world.tenant("acme")
    page = sign_in(Role.OPERATOR, following="/tenants/?find=acme")
    expect(page.get_by_role("link", name="acme")).to_be_visible()
    page.locator("summary.who").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{live_server}/login/")
    page.goto(f"{live_server}/workers/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_wrong_password_is_said_beside_its_field(context: BrowserContext, world: World, live_server: object) -> None:
    page = context.new_page()
    page.goto(f"{live_server}/login/")
    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_text("User name and password do not match.")).to_be_visible()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")


def test_times_are_in_the_browsers_zone(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    expect(sign_in(Role.OPERATOR).get_by_text("Times are Europe/Berlin.")).to_be_visible()


DARK, LIGHT = "rgb(14, 17, 22)", "rgb(246, 247, 249)"


def expect_ground(page: Page, colour: str) -> None:
    expect(page.locator("body")).to_have_css("background-color", colour)


def test_the_theme_follows_the_system_until_somebody_chooses(sign_in: SignIn, world: World) -> None:
    page = sign_in(Role.OPERATOR)
    page.emulate_media(color_scheme="dark")
    expect_ground(page, DARK)
    page.emulate_media(color_scheme="light")
    expect_ground(page, LIGHT)
    page.get_by_role("button", name="Switch between light and dark").click()
    expect_ground(page, DARK)
    page.reload()
    assert page.locator("html").get_attribute("data-chosen-theme") == "dark"
    page.emulate_media(color_scheme="light")
    expect_ground(page, DARK)


def test_everything_works_without_javascript(context: BrowserContext, world: World, live_server: object) -> None:
    """Sign in, find, pause with a reason, read a job, sign out."""
    assert context.browser is not None
    world.tenant("acme")
    world.tenant("bluefin")
    user = world.person(Role.ON_CALL)
    user.set_password("pw of ada")
    user.save()
    plain = context.browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = plain.new_page()
    page.goto(f"{live_server}/")
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill("pw of ada")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("As of ")).to_be_visible()
    page.get_by_label("Find a tenant").fill("acme")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="bluefin")).to_have_count(0)
    page.get_by_role("link", name="acme").click()
    page.get_by_label("Why?").fill("they asked for it")
    page.get_by_role("button", name="Pause acme").click()
    expect(page.get_by_text("acme is paused.", exact=True)).to_be_visible()
    expect(page.get_by_text("they asked for it")).to_be_visible()
    page.get_by_role("button", name="Resume acme").click()
    expect(page.get_by_text("acme is resumed.")).to_be_visible()
    page.locator("summary.who").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    plain.close()
