"""The list of dead letters and its bulk actions in a real browser: ticks, polls, keys, and without any script."""

from __future__ import annotations

import re
from itertools import product

import pytest
from playwright.sync_api import Browser, Page, expect

from dlq.models import BulkAction, DeadLetter, ReplayRun
from tenants.models import Tenant
from tenants.roles import Role
from tests.browser.conftest import PASSWORD, SignIn
from tests.browser.test_live import LIVE, tick, with_a_clock
from tests.browser.test_look import WIDTHS, problems, unreadably_small
from tests.web.bulks import replayable
from tests.web.world import World

pytestmark = pytest.mark.look


def polled(page: Page) -> None:
    """Let one poll happen."""
    with page.expect_response(LIVE, timeout=15_000):
        tick(page, 6_000)
    page.wait_for_timeout(50)


def test_ticks_live_through_polls_and_what_left_is_dropped_and_said(sign_in: SignIn, world: World) -> None:
    """HX-06: tick 3 of 25, wait 3 polls, one ticked row leaves: the label says 2, and those 2 are sent."""
    acme = world.tenant("acme")
    letters = [replayable(world, acme, error=f"failure {n}") for n in range(25)]
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    page.clock.install()
    page.reload()
    for letter in letters[3:6]:
        page.get_by_label(f"Tick No. {letter.pk}", exact=True).check()
    expect(page.locator("#ticked")).to_have_text("3 dead letters ticked")
    page.locator(".narrow-by summary").click()
    page.mouse.wheel(0, 400)
    for _ in range(2):
        polled(page)
    expect(page.locator("#ticked")).to_have_text("3 dead letters ticked")
    DeadLetter.objects.filter(pk=letters[4].pk).update(state="resolved")
    DeadLetter.objects.filter(pk=letters[0].pk).update(state="resolved")
    polled(page)
    expect(page.locator("#gone")).to_have_text(
        "1 ticked dead letter left this list meanwhile, and is not ticked any more."
    )
    expect(page.locator("#ticked")).to_have_text("2 dead letters ticked")
    expect(page.locator("tbody input[name=ids]:checked")).to_have_count(2)
    assert page.evaluate("window.scrollY") > 200
    assert page.locator(".narrow-by").get_attribute("open") is not None
    page.locator(".narrow-by summary").click()
    page.get_by_role("button", name="Replay").click()
    page.wait_for_url(re.compile("/dlq/replays/"))
    chosen = BulkAction.objects.get().members.values_list("letter_id", flat=True)
    assert list(chosen) == [letters[3].pk, letters[5].pk]


def test_all_of_a_page_all_that_match_and_none(sign_in: SignIn, world: World) -> None:
    acme = world.tenant("acme")
    for _ in range(60):
        replayable(world, acme)
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#gone")).to_have_text("Nothing is ticked. Tick what is meant, or take all that match.")
    page.get_by_label("Tick all on this page").check()
    expect(page.locator("#ticked")).to_have_text("50 dead letters ticked")
    page.locator("tbody input[name=ids]").first.uncheck()
    expect(page.locator("#ticked")).to_have_text("49 dead letters ticked")
    page.get_by_role("button", name="Untick all").click()
    expect(page.locator("#ticked")).to_have_text("Tick some, or take")
    page.get_by_label("all 60 that match").check()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Discard 60 dead letters")


def test_a_replay_is_followed_to_its_end(sign_in: SignIn, world: World) -> None:
    acme = world.tenant("acme")
    letters = [replayable(world, acme) for _ in range(2)]
    page = with_a_clock(sign_in(Role.ON_CALL, following="/dlq/?by=one"))
    page.get_by_label("Tick all on this page").check()
    page.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="Replay 2").click()
    expect(page.locator(".msg")).to_contain_text("2 dead letters were sent back to run.")
    page.get_by_role("link", name="See how it goes on").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("is running: 0 of 2 done")
    ReplayRun.objects.filter(letter=letters[0]).update(state="succeeded")
    tick(page, 6_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("is running: 1 of 2 done", timeout=15_000)
    ReplayRun.objects.filter(letter=letters[1]).update(state="died")
    DeadLetter.objects.filter(pk=letters[1].pk).update(state="open")
    tick(page, 6_000)
    heading = re.compile("is over: 1 succeeded, 1 is open again")
    expect(page.get_by_role("heading", level=1)).to_have_text(heading, timeout=15_000)
    expect(page.locator("[data-live-line]")).to_contain_text("As of ")


def test_everything_works_without_a_script(chromium: Browser, world: World, live_server: object) -> None:
    acme = world.tenant("acme")
    letters = [replayable(world, acme, owner=owner) for owner in ("billing", "billing", "payments")]
    user = world.person(Role.ON_CALL)
    user.set_password(PASSWORD)
    user.save()
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}/dlq/?by=one")
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".narrow-by summary").click()
    page.get_by_label("Owner").select_option("billing")
    page.get_by_role("button", name="Apply").click()
    assert page.url == f"{live_server}/dlq/?by=one&owner=billing"
    page.get_by_label(f"Tick No. {letters[1].pk}", exact=True).check()
    page.get_by_role("button", name="Discard").click()
    page.get_by_label("Reason").select_option("Duplicate of another")
    page.get_by_role("button", name="Discard 1").click()
    assert page.url == f"{live_server}/dlq/?by=one&owner=billing"
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("button", name="Undo").click()
    assert page.url == f"{live_server}/dlq/?by=one&owner=billing"
    assert page.locator("tbody tr").count() == 2
    context.close()


def busy_pages(world: World, page: Page, live_server: object) -> dict[str, str]:
    """Lists and bulk actions with all that stretches a page: answers the pages by name."""
    acme, long = world.tenant("acme", may_replay=True), world.tenant("a" * 50)
    for n in range(4):
        replayable(world, acme if n % 2 else long, error="https://hooks.example/" + "very-long-path/" * 20)
    replayable(world, acme, job_type="shop.jobs." + "y" * 100, owner="o" * 100, error_class="x" * 200, reason="poison")
    page.goto(f"{live_server}/dlq/?by=one")
    page.get_by_label("all 5 that match").check()
    page.get_by_role("button", name="Replay").click()
    page.wait_for_url(re.compile("/replays/"))
    replay = BulkAction.objects.latest("pk")
    discard = BulkAction.objects.create(kind="discard", by="x" * 150, matched=3, chosen=f"owner={'o' * 100}")
    running = BulkAction.objects.create(
        kind="replay", state="running", by="olga", matched=900, done=500, skipped=7, reason="r" * 400,
        skipped_for={"its arguments do not fit: " + "z" * 150: 7}, started_at=replay.created_at,
    )  # fmt: skip
    letters = DeadLetter.objects.filter(tenant=Tenant.objects.get(slug="acme"))
    for n, letter in enumerate(letters):
        state = ("succeeded", "died", "running")[n % 3]
        ReplayRun.objects.create(letter=letter, number=1, job_id=f"r{n}", bulk=running, by="olga", state=state)
    return {
        "list": "/dlq/?by=one",
        "filtered": f"/dlq/?by=one&owner={'o' * 100}&reason=poison&q={'w' * 150}",
        "nothing": "/dlq/?by=one&q=nothing",
        "faults": "/dlq/?reason=nope",
        "empty tab": "/dlq/?status=discarded&sort=newest",
        "bulk actions": "/dlq/replays/",
        "preview": f"/dlq/replays/{replay.pk}/",
        "discard": f"/dlq/discards/{discard.pk}/",
        "running": f"/dlq/replays/{running.pk}/",
    }


def test_axe_finds_nothing_and_nothing_scrolls_sideways(sign_in: SignIn, world: World, live_server: object) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    found: dict[tuple[object, ...], list[str]] = {}
    for name, url in busy_pages(world, page, live_server).items():
        for theme, width in product(("light", "dark"), (390, 1440)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{url}")
            found[name, theme, width] = problems(page) + unreadably_small(page)
        if page.locator(".narrow-by").count():
            page.locator(".narrow-by summary").click()
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            found[name, width] = [f"{over} px too wide"] if over else []
    assert {key: value for key, value in found.items() if value} == {}
