"""Pages that keep themselves fresh."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import Page, Route, expect

from jobops.engine.records import Outcome
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.tools import wait_for
from tests.web.world import World

LIVE = re.compile(r"/live/")
pytestmark = pytest.mark.look


def polls(page: Page) -> list[str]:
    """The polls that the page has sent since now, as a list that grows."""
    sent: list[str] = []
    page.on("request", lambda request: LIVE.search(request.url) and sent.append(request.url))
    return sent


def with_a_clock(page: Page) -> Page:
    """The page anew, with a clock that `tick` moves."""
    page.clock.install()
    page.reload()
    return page


def tick(page: Page, milliseconds: int) -> None:
    """Moves the page's clock, and lets what it set off arrive."""
    page.clock.run_for(milliseconds)
    page.wait_for_timeout(30)


def test_numbers_change_while_typed_text_scroll_focus_and_nodes_stay(sign_in: SignIn, world: World) -> None:
    for index in range(60):
        world.tenant(f"t-{index:02}")
    world.tenant("acme", cap=5)
    page = sign_in(Role.ON_CALL, following="/?calm=1")
    waiting = page.locator("#t-acme td[data-l='Bulk waiting']")
    expect(waiting).to_have_text("0")
    page.evaluate("document.querySelector('#t-acme').mark = 'the same node'")
    find = page.get_by_label("Find a tenant")
    find.fill("half a wo")
    find.evaluate("field => field.setSelectionRange(4, 6)")
    page.mouse.wheel(0, 300)
    wait_for(lambda: page.evaluate("window.scrollY") > 200)
    for _ in range(7):
        world.enqueue("acme")
    expect(waiting).to_have_text("7", timeout=15_000)
    world.settle(world.claim(), Outcome.succeeded())
    expect(waiting).to_have_text("6", timeout=15_000)
    assert find.input_value() == "half a wo"
    assert find.evaluate("field => [document.activeElement === field, field.selectionStart, field.selectionEnd]") == [
        True,
        4,
        6,
    ]
    assert page.evaluate("window.scrollY") > 200
    assert page.evaluate("document.querySelector('#t-acme').mark") == "the same node"
    expect(page.locator("[data-live-line]")).to_contain_text(re.compile(r"Live, \d\d:\d\d CE"))


def test_a_focused_link_and_a_half_written_reason_survive_a_poll(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    page = with_a_clock(sign_in(Role.ON_CALL, following="/tenants/acme/"))
    reason = page.get_by_label("Why?")
    reason.fill("because of the")
    with page.expect_response(LIVE, timeout=15_000):
        world.enqueue("acme")
        tick(page, 6_000)
    expect(page.locator("#q-bulk td[data-l='Waiting']")).to_have_text("1", timeout=15_000)
    expect(reason).to_have_value("because of the")
    expect(reason).to_be_focused()


def test_the_title_changes_with_the_state(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    page = with_a_clock(sign_in(Role.ON_CALL))
    expect(page.get_by_role("heading", level=1)).to_have_text("All is calm, and nothing is waiting.")
    world.enqueue("acme")
    tick(page, 6_000)
    expect(page.get_by_role("heading", level=1)).to_have_text("No worker is running, and 1 job waits.", timeout=15_000)
    expect(page).to_have_title("Overview · jobops")


def test_a_session_that_ends_between_polls_sends_the_whole_page_to_sign_in_and_back(
    sign_in: SignIn, world: World, live_server: object
) -> None:
    """HX-01."""
    world.tenant("acme")
    page = with_a_clock(sign_in(Role.ON_CALL, following="/tenants/acme/?from=mail"))
    Session.objects.all().delete()
    page.clock.run_for(6_000)
    page.wait_for_url(re.compile(r"/login/\?next="), timeout=15_000)
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.get_by_text("Your session has ended")).to_be_visible()
    expect(page.locator("header.top")).to_have_count(0)
    user = world.person(Role.ON_CALL)
    user.set_password("another")
    user.save()
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill("another")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{live_server}/tenants/acme/?from=mail")
    expect(page.locator("#q-bulk")).to_be_visible()


def test_never_more_than_one_poll_is_in_flight_however_slow_the_server(sign_in: SignIn, world: World) -> None:
    """UP-02: the server answers only after several poll intervals."""
    page = sign_in(Role.ON_CALL)
    waiting: list[Route] = []
    page.route(LIVE, lambda route: waiting.append(route))
    page.clock.install()
    sent = polls(page)
    page.reload()
    page.clock.run_for(6_000)
    wait_for(lambda: page.wait_for_timeout(10) or waiting, what="the first poll")
    page.clock.run_for(15_000)
    assert len(sent) == 1
    expect(page.locator("[data-live-line]")).to_contain_text("Not refreshed for 2")
    expect(page.locator("[data-live-line]")).to_have_class(re.compile("stale"))
    waiting.pop().continue_()
    expect(page.locator("[data-live-line]")).to_contain_text("Live, ")
    page.clock.run_for(6_000)
    wait_for(lambda: page.wait_for_timeout(10) or len(sent) == 2, what="the second poll")


@pytest.mark.parametrize("fail", [lambda route: route.fulfill(status=500, body="broken"), lambda route: route.abort()])
def test_pauses_grow_while_the_server_fails_and_the_old_numbers_stay(
    sign_in: SignIn, world: World, fail: Callable[[Route], None]
) -> None:
    """UP-02: 5 s, then 10, 20, 40, 60: in five minutes no more than eight polls; afterwards each 5 s again."""
    world.tenant("acme")
    page = sign_in(Role.ON_CALL)
    page.route(LIVE, fail)
    page.clock.install()
    sent = polls(page)
    page.reload()
    for _ in range(150):
        tick(page, 2_000)
    assert 5 <= len(sent) <= 8
    expect(page.locator("[data-live-line]")).to_contain_text(re.compile(r"Not refreshed for \d min"))
    expect(page.locator("#t-acme")).to_be_visible()
    expect(page.get_by_text("broken")).to_have_count(0)
    page.unroute(LIVE)
    line = page.locator("[data-live-line]")
    wait_for(lambda: tick(page, 2_000) or "Live, " in line.inner_text(), seconds=20, what="the page being live again")
    before = len(sent)
    for _ in range(10):
        tick(page, 2_000)
    assert 3 <= len(sent) - before <= 5


def test_a_hidden_tab_does_not_poll_and_asks_at_once_when_it_is_seen_again(sign_in: SignIn, world: World) -> None:
    page = sign_in(Role.ON_CALL)
    page.clock.install()
    page.reload()
    sent = polls(page)
    hide = """hidden => {
      Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
      document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.evaluate(hide, True)
    page.clock.run_for(60_000)
    page.wait_for_timeout(50)
    assert sent == []
    page.evaluate(hide, False)
    page.clock.run_for(1_000)
    wait_for(lambda: page.wait_for_timeout(10) or sent, what="a poll on coming back")


def test_a_job_page_follows_its_job_to_the_end_and_then_rests(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    job = world.enqueue("acme", "shop.jobs.send")
    page = with_a_clock(sign_in(Role.ON_CALL, following=f"/jobs/{job}/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("send waits")
    claimed = world.claim()
    tick(page, 6_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("send is running", timeout=15_000)
    world.settle(claimed, Outcome.succeeded())
    tick(page, 6_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("send succeeded", timeout=15_000)
    expect(page.locator("[data-live-line]")).to_contain_text("As of ")
    sent = polls(page)
    for _ in range(5):
        tick(page, 5_000)
    assert sent == []
