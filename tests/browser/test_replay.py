"""A replay of many in a real browser: its options, its canary, what stopped it, and on to the end."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from dlq.bulk_run import run_batch
from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, ReplayPlan, ReplayRun
from jobops.metrics.waits import keep_wait
from tenants.roles import Role
from tests.browser.conftest import PASSWORD, SignIn
from tests.browser.test_live import tick, with_a_clock
from tests.browser.test_look import problems, unreadably_small
from tests.web.bulks import replayable
from tests.web.world import World

pytestmark = pytest.mark.look


def end(bulk: BulkAction, state: str, count: int | None = None) -> None:
    """The jobs that it sent end so."""
    ids = list(bulk.runs.filter(state="running").order_by("pk").values_list("pk", flat=True)[:count])
    ReplayRun.objects.filter(pk__in=ids).update(state=state, ended_at=timezone.now())
    DeadLetter.objects.filter(runs__in=ids).update(state="resolved" if state == "succeeded" else "open")


def preview(page: Page, live_server: object) -> BulkAction:
    """Choose all that match, and look at what would happen."""
    page.goto(f"{live_server}/dlq/?by=one")
    page.locator("input[name=all]").check()
    page.get_by_role("button", name="Replay", exact=True).click()
    page.wait_for_url(re.compile("/dlq/replays/"))
    return BulkAction.objects.latest("pk")


def heading(page: Page, text: str) -> None:
    tick(page, 6_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text(text, timeout=15_000)


def test_the_sentences_and_the_button_follow_the_options(sign_in: SignIn, world: World, live_server: object) -> None:
    acme = world.tenant("acme")
    for _ in range(12):
        replayable(world, acme)
    page = sign_in(Role.ON_CALL, following="/dlq/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/plan/" in request.url else None)
    bulk = preview(page, live_server)
    expect(page.get_by_role("button", name="Start with 5, then 7")).to_be_visible()
    page.get_by_label("Canary", exact=True).fill("2")
    expect(page.get_by_role("button", name="Start with 2, then 10")).to_be_visible()
    page.get_by_label("Speed").fill("")
    expect(page.locator("#will-happen")).to_contain_text("as fast as they go")
    page.get_by_label("Speed").fill("fast")
    expect(page.locator("#will-happen [role=alert]")).to_contain_text("Speed")
    expect(page.locator("#will-happen button[type=submit]")).to_have_count(0)
    page.get_by_label("Speed").fill("9")
    expect(page.locator("#will-happen")).to_contain_text("at 9 per second")
    assert asked
    assert not any("csrf" in urlsplit(url).query for url in asked)
    # Enter in a field shows what the options come to; it starts nothing.
    page.get_by_label("In flight").fill("3")
    page.get_by_label("In flight").press("Enter")
    page.wait_for_url(re.compile("in_flight=3"))
    bulk.refresh_from_db()
    assert bulk.state == "draft"
    expect(page.locator("#will-happen")).to_contain_text("at most 3 at once")
    page.get_by_role("button", name="Start with 2, then 10").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("runs its canary")
    plan = ReplayPlan.objects.get(pk=bulk.pk)
    assert (plan.canary, plan.rate, plan.in_flight) == (2, 9, 3)


def test_a_canary_stops_it_and_after_the_mending_it_goes_on_to_the_end(
    sign_in: SignIn, world: World, live_server: object
) -> None:
    acme = world.tenant("acme")
    for _ in range(60):
        replayable(world, acme)
    page = with_a_clock(sign_in(Role.ON_CALL, following="/dlq/"))
    bulk = preview(page, live_server)
    page.get_by_label("Speed").fill("")
    page.get_by_label("In flight").fill("10")
    page.get_by_role("button", name="Start with 5, then 55").click()
    run_batch(bulk.pk)
    heading(page, "runs its canary: 0 of 5 done")
    end(bulk, "died", 1)
    end(bulk, "succeeded")
    run_batch(bulk.pk)
    heading(page, "was stopped by its canary: 5 of 60 done")
    expect(page.locator(".banner-d")).to_contain_text("1 of 5 did not succeed")
    page.get_by_role("button", name="Run a new canary").click()
    run_batch(bulk.pk)
    end(bulk, "succeeded")
    heading(page, "runs its canary: ")
    run_batch(bulk.pk)
    heading(page, "is running: ")
    expect(page.get_by_text("Canary passed", exact=True)).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("is paused")
    page.get_by_role("button", name="Resume").click()
    for _ in range(60):
        run_batch(bulk.pk)
        end(bulk, "succeeded")
        bulk.refresh_from_db()
        if bulk.state == "finished":
            break
    heading(page, "is over: 59 succeeded, 1 is open again")
    expect(page.locator("[data-live-line]")).to_contain_text("As of ")


def test_what_is_typed_into_the_speed_survives_the_polls(sign_in: SignIn, world: World, live_server: object) -> None:
    acme = world.tenant("acme")
    for _ in range(60):
        replayable(world, acme)
    page = with_a_clock(sign_in(Role.ON_CALL, following="/dlq/"))
    bulk = preview(page, live_server)
    page.get_by_role("button", name="Start with 5, then 55").click()
    page.get_by_text("Change speed").click()
    page.get_by_role("textbox", name="Starts per second").fill("50")
    run_batch(bulk.pk)
    heading(page, "runs its canary: 0 of 5 done")
    expect(page.get_by_role("textbox", name="Starts per second")).to_have_value("50")
    page.get_by_role("button", name="Change it").click()
    expect(page.locator(".msg").first).to_contain_text("The speed is changed.")
    assert ReplayPlan.objects.get(pk=bulk.pk).rate == 50


def test_it_works_without_a_script(chromium: Browser, world: World, live_server: object) -> None:
    acme = world.tenant("acme")
    for _ in range(12):
        replayable(world, acme)
    user = world.person(Role.ON_CALL)
    user.set_password(PASSWORD)
    user.save()
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{live_server}/dlq/?by=one")
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    bulk = preview(page, live_server)
    page.get_by_label("Canary", exact=True).fill("3")
    page.get_by_role("button", name="Show what will happen").last.click()
    page.get_by_role("button", name="Start with 3, then 9").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"Replay {bulk.pk} ")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("is paused")
    page.get_by_role("button", name="Cancel the rest").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("was cancelled")
    context.close()


def busy_pages(world: World, page: Page, live_server: object) -> dict[str, str]:
    """A preview and replays in every state, with all that stretches a page: answers the pages by name."""
    acme, long = world.tenant("acme"), world.tenant("a" * 50)
    group = DeadLetterGroup.objects.create(fingerprint="a" * 64, title="https://hooks.example/" + "very-long/" * 25)
    for n in range(60):
        replayable(world, acme if n % 2 else long, group=group, error="x" * 300, checkpoint="1" if n % 3 else "")
    pages = {"preview": urlsplit(page.url).path}
    drafted = preview(page, live_server)
    pages["preview"] = f"/dlq/replays/{drafted.pk}/"
    pages["options"] = f"/dlq/replays/{drafted.pk}/?options=1&canary=0&rate=&spread_s=2h&breaker_percent=x"
    for n in range(5):
        keep_wait(world.engine, "interactive", n)
    user = world.person(Role.ON_CALL)
    states: dict[str, dict[str, Any]] = {
        "running": {"phase": "rest", "canary_passed_at": timezone.now()},
        "canary": {},
        "scheduled": {"start_at": timezone.now() + timedelta(hours=2)},
        "stopped": {"paused_by": "canary", "paused_at": timezone.now(), "paused_why": "w" * 300},
        "tripped": {"paused_by": "breaker", "paused_at": timezone.now(), "phase": "rest"},
        "paused": {"paused_by": "x" * 150, "paused_at": timezone.now(), "paused_why": "w" * 300},
    }
    for state, fields in states.items():
        paused = "paused_by" in fields
        bulk = BulkAction.objects.create(
            kind="replay", state="paused" if paused else "running", by=user.username, matched=900, done=30, skipped=7,
            reason="r" * 400, skipped_for={"its arguments do not fit: " + "z" * 150: 7}, started_at=timezone.now(),
        )  # fmt: skip
        ReplayPlan.objects.create(bulk=bulk, group=group, in_flight=24, **fields)
        for n, letter in enumerate(DeadLetter.objects.all()[: 0 if state == "scheduled" else 30]):
            run = {"state": ("succeeded", "died", "running")[n % 3], "ended_at": timezone.now()}
            number = letter.runs.count() + 1
            ReplayRun.objects.create(letter=letter, number=number, job_id=f"{bulk.pk}-{n}", bulk=bulk, by="olga", **run)
            bulk.members.create(letter=letter, canary=n < 5, state="done")
        pages[state] = f"/dlq/replays/{bulk.pk}/"
    return pages | {"members": f"/dlq/bulk/{bulk.pk}/members/", "list": "/dlq/replays/"}


def test_axe_finds_nothing_and_nothing_scrolls_sideways(sign_in: SignIn, world: World, live_server: object) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/")
    found: dict[tuple[object, ...], list[str]] = {}
    for name, url in busy_pages(world, page, live_server).items():
        for theme, width in product(("light", "dark"), (390, 1440)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{url}")
            found[name, theme, width] = problems(page) + unreadably_small(page)
    assert {key: faults for key, faults in found.items() if faults} == {}
