"""Triage by cause: ticks and keys, acts from the bar and from the page, and how both look."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dlq.models import DeadLetter, DeadLetterGroup, GroupNote
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import WIDTHS, problems, unreadably_small
from tests.web.bulks import TYPE
from tests.web.causes import cause, letter_of
from tests.web.world import World

pytestmark = pytest.mark.look
LONG = "averylongnamewithoutanyplacetobreakit" * 3


@pytest.fixture
def three(world: World) -> list[DeadLetterGroup]:
    """Three causes, the first due first, with one, two and three letters."""
    acme = world.tenant("acme", may_replay=True)
    groups = [cause(f"Cause number {number}", job_type=TYPE) for number in (1, 2, 3)]
    for count, group in enumerate(groups, 1):
        for _ in range(count):
            letter_of(world, group, acme, job_type=TYPE, due_at=timezone.now() + timedelta(hours=count - 1, minutes=5))
    return groups


def test_ticks_count_the_letters_behind_them(sign_in: SignIn, three: list[DeadLetterGroup]) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/")
    label = page.locator("#ticked")
    expect(label).to_have_text("Tick some causes")
    page.get_by_label("Tick: Cause number 2").check()
    expect(label).to_have_text("1 cause ticked, 2 dead letters")
    page.get_by_label("Tick: Cause number 3").check()
    expect(label).to_have_text("2 causes ticked, 5 dead letters")
    page.get_by_role("button", name="Untick all").click()
    expect(label).to_have_text("Tick some causes")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("#gone")).to_have_text("Nothing is ticked. Tick what is meant.")


def test_keys_walk_tick_and_act(sign_in: SignIn, three: list[DeadLetterGroup], live_server: object) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('tr').id") == f"g-{three[1].pk}"
    page.keyboard.press("e")
    expect(page.get_by_role("status").first).to_contain_text("1 cause is acknowledged.")
    assert DeadLetterGroup.objects.get(state="acknowledged") == three[1]
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Take them")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("1 cause is yours.")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("rxd")
    expect(page.get_by_role("searchbox")).to_have_value("rxd")
    page.goto(f"{live_server}/dlq/")
    page.keyboard.press("j")
    page.keyboard.press("r")
    page.wait_for_url(re.compile(r"/dlq/replays/\d+/"))
    expect(page.get_by_role("main")).to_contain_text("1")


def test_a_poll_keeps_ticks_and_what_is_unfolded(sign_in: SignIn, world: World, three: list[DeadLetterGroup]) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/")
    page.get_by_label("Tick: Cause number 2").check()
    page.locator("#bulk-snooze summary").click()
    page.locator("#bulk-snooze select").select_option("tenant")
    DeadLetterGroup.objects.filter(pk=three[1].pk).update(open=9)
    page.evaluate("document.querySelector('[data-live]').dispatchEvent(new CustomEvent('live'))")
    expect(page.locator("#ticked")).to_have_text("1 cause ticked, 9 dead letters")
    expect(page.locator("#bulk-snooze select")).to_have_value("tenant")
    page.locator("#bulk-snooze").get_by_role("button", name="Snooze").click()
    expect(page.get_by_role("status").first).to_contain_text("1 cause is snoozed.")
    assert DeadLetterGroup.objects.get(pk=three[1].pk).snoozed_to_tenants == 2


def test_a_cause_is_opened_taken_noted_and_all_of_it_discarded(
    sign_in: SignIn, three: list[DeadLetterGroup], live_server: object
) -> None:
    page = sign_in(Role.ON_CALL, following="/dlq/")
    page.get_by_role("link", name="Cause number 3").click()
    page.wait_for_url(f"{live_server}/dlq/groups/{three[2].pk}/")
    page.get_by_role("button", name="Take it", exact=True).click()
    expect(page.get_by_role("status").first).to_contain_text("It is yours, with 3 dead letters.")
    page.get_by_label("What should the next person know?").fill("poison, all of it")
    page.get_by_role("button", name="Add the note").click()
    expect(page.locator(".note")).to_contain_text("poison, all of it")
    page.locator("#pause-clock summary").click()
    page.get_by_label("Why?").fill("the provider sends a form")
    page.locator("#pause-clock").get_by_role("button", name="Pause clock").click()
    expect(page.get_by_role("button", name="Resume clock")).to_be_visible()
    page.get_by_role("button", name="Discard all 3").click()
    page.wait_for_url(re.compile(r"/dlq/discards/\d+/"))
    page.get_by_label("Reason").first.select_option("Will never succeed")
    page.get_by_role("button", name=re.compile("Discard")).last.click()
    page.wait_for_url(f"{live_server}/dlq/groups/{three[2].pk}/")
    assert set(DeadLetter.objects.filter(group=three[2]).values_list("state", flat=True)) == {"discarded"}


@pytest.mark.parametrize("role", [Role.ON_CALL, Role.STAFF_VIEWER, Role.TENANT_ADMIN])
def test_both_pages_fit_and_axe_finds_nothing(
    sign_in: SignIn, world: World, three: list[DeadLetterGroup], live_server: object, role: Role
) -> None:
    acme = world.tenant("acme-retail") if role is not Role.TENANT_ADMIN else three[0].shares.get().tenant
    wide = cause(
        LONG,
        job_type=f"shop.{LONG}",
        error_class=f"shop.{LONG}",
        owner=LONG[:90],
        ticket_url=f"https://{LONG}.example/",
    )
    letter_of(world, wide, acme, error=LONG, due_at=timezone.now() - timedelta(hours=1), reason="worker_lost")
    GroupNote.objects.create(group=wide, by=LONG, text=LONG)
    page = sign_in(role, three[0].shares.get().tenant, "/dlq/")
    found: dict[tuple[object, ...], list[str]] = {}
    for url in ("/dlq/", f"/dlq/groups/{wide.pk}/", f"/dlq/groups/{three[1].pk}/", "/dlq/?by=one"):
        for theme, width in product(("light", "dark"), (390, 1440)):
            page.emulate_media(color_scheme=theme)
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{url}")
            found[url, theme, width] = problems(page) + unreadably_small(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            found[url, width] = [f"{over} px too wide"] if over else []
    assert {key: value for key, value in found.items() if value} == {}
