"""Walking the list of dead letters by keys, and turning these off."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dlq.models import DeadLetter
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.web.bulks import replayable
from tests.web.world import World

pytestmark = pytest.mark.look


@pytest.fixture
def letters(world: World) -> list[DeadLetter]:
    acme = world.tenant("acme")
    return [replayable(world, acme) for _ in range(3)]


@pytest.fixture
def page(sign_in: SignIn, letters: list[DeadLetter]) -> Page:
    return sign_in(Role.ON_CALL, following="/dlq/?by=one")


def focused(page: Page) -> str:
    """The id of the row that has the focus."""
    return str(page.evaluate("document.activeElement.closest('.ll tbody tr')?.id || ''"))


def test_rows_are_walked_ticked_and_opened(page: Page, letters: list[DeadLetter], live_server: object) -> None:
    """From where nothing has the focus, j begins with the first row, as the foot of the list promises."""
    first, second = (f"d-{letter.pk}" for letter in letters[:2])
    for key, row in (("k", ""), ("x", ""), ("j", first), ("j", second), ("k", first), ("k", first), ("j", second)):
        page.keyboard.press(key)
        assert focused(page) == row, key
    page.keyboard.press("x")
    expect(page.locator(f"#d-{letters[1].pk} input[name=ids]")).to_be_checked()
    assert page.locator("tbody input:checked").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url(f"{live_server}/dlq/{letters[1].pk}/")


def test_what_is_typed_or_meant_for_the_browser_is_no_key(page: Page) -> None:
    page.get_by_role("searchbox").click()
    page.keyboard.type("jxk")
    expect(page.get_by_role("searchbox")).to_have_value("jxk")
    page.evaluate("document.activeElement.blur()")
    for key in ("Control+j", "Alt+j", "Meta+j"):
        page.keyboard.press(key)
        assert focused(page) == ""
    page.locator("header a").first.focus()
    page.keyboard.press("j")
    assert focused(page) == "", "the focus is in another part of the page"


def test_who_turns_the_keys_off_is_not_surprised_by_them_again(page: Page, letters: list[DeadLetter]) -> None:
    """WCAG 2.1.4: a shortcut of one character can be turned off."""
    page.get_by_role("button", name="Turn off").click()
    expect(page.locator("#keys kbd").first).to_be_hidden()
    page.reload()
    page.keyboard.press("j")
    assert focused(page) == ""
    page.get_by_role("button", name="Turn the keys on").click()
    expect(page.locator("#keys kbd").first).to_be_visible()
    page.keyboard.press("j")
    assert focused(page) == f"d-{letters[0].pk}"
