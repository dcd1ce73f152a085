"""The on-call engineer's night, in a browser, on a real worker and a real scheduler."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import BrowserContext, Page, expect

from dlq.models import DeadLetter, State
from jobops.demo import jobs, receiver
from jobops.demo.models import Order
from jobops.demo.places import Places, Services
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.runtime.processes import running
from tests.tools import wait_for
from tests.web.world import World

SHOP = "acme-retail"


@pytest.fixture
def provider() -> Iterator[receiver.Desk]:
    """The customers' servers, where the demo's jobs and its page look for them. The payment provider is down."""
    places, desk = Places(settings.HOME_DIR), receiver.Desk()
    listener = socket.create_server(("127.0.0.1", 0))
    places.write_services(Services(f"http://127.0.0.1:{listener.getsockname()[1]}", "127.0.0.1", 1))
    desk.set_mode("payments", "broken")
    with receiver.make_server(listener, desk) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield desk
        server.shutdown()
        thread.join()
    places.forget_services()


@pytest.fixture
def crew(world: World, tmp_path: Path) -> Iterator[None]:
    """A worker and a scheduler on the test's stores."""
    with running(tmp_path / "worker.log", "worker", "--processes", "1"), running(tmp_path / "s.log", "scheduler"):
        yield


@pytest.fixture
def dead(world: World, provider: receiver.Desk, crew: None) -> list[DeadLetter]:
    """Two payments that failed in every attempt, as the provider is down."""
    world.tenant(SHOP, may_replay=True)
    for number in (1, 2):
        Order.objects.create(
            shop=SHOP, number=number, placed_on=date(2026, 3, 1), customer="Ada", email="ada@mail.example",
            country="DE", currency="EUR", items=1, total=Decimal(10),
        )  # fmt: skip
        jobs.capture_payment.using(tenant=SHOP).enqueue(shop=SHOP, order=number, card_token="tok_secret")
    wait_for(lambda: DeadLetter.objects.count() == 2, seconds=60, what="two dead letters")
    return list(DeadLetter.objects.order_by("pk"))


def heading(page: Page) -> Any:
    return expect(page.get_by_role("heading", level=1))


@pytest.mark.timeout(300)
def test_a_letter_is_understood_its_cause_mended_replayed_and_watched_until_it_resolves(
    sign_in: SignIn, world: World, live_server: object, dead: list[DeadLetter]
) -> None:
    first, second = dead
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    page.locator(f"#d-{first.pk}").get_by_role("link", name="HTTP Error 503").click()
    page.wait_for_url(f"{live_server}/dlq/{first.pk}/")
    heading(page).to_have_text("capture_payment failed in every one of 3 attempts")
    expect(page.locator(".errmsg")).to_contain_text("we are down for maintenance")
    expect(page.locator(".before")).to_contain_text("1 more died of the same cause")
    expect(page.locator(".before")).to_contain_text("Safe to repeat because captures by order number")
    expect(page.locator(".tb .jtag").last).to_have_text("our code, raised here")
    expect(page.locator("main")).not_to_contain_text("tok_secret")

    page.goto(f"{live_server}/demo/")
    page.locator("#s-payments").get_by_role("button", name="Mend").click()
    expect(page.get_by_role("status")).to_contain_text("payments is mended")

    page.goto(f"{live_server}/dlq/{first.pk}/")
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text(f"No. {first.pk} was sent back to run.")
    heading(page).to_have_text("capture_payment was replayed and succeeded", timeout=30_000)
    expect(page.locator(".hist")).to_contain_text("Replay 1 succeeded: resolved")
    expect(page.get_by_role("button", name="Replay", exact=True)).to_have_count(0)
    assert DeadLetter.objects.get(pk=first.pk).state == State.RESOLVED

    discard_and_undo(page, f"{live_server}/dlq/{second.pk}/", second)
    who = page.locator(".who-n").inner_text()
    page.goto(f"{live_server}/audit/")
    rows = page.locator("main table, main ol").first
    for did in ("replayed dead letter", "discarded dead letter", "undid the discard of dead letter", "mended"):
        row = rows.locator("tr, li").filter(has_text=did)
        expect(row).to_have_count(1)
        expect(row).to_contain_text(who)


def discard_and_undo(page: Page, url: str, letter: DeadLetter) -> None:
    page.goto(url)
    page.get_by_role("link", name="Discard", exact=True).click()
    page.locator("#discard select").select_option("Fixed by hand")
    page.get_by_label("What should the next person know?").fill("paid by bank transfer")
    page.get_by_role("button", name="Discard this one").click()
    message = page.get_by_role("status")
    expect(message).to_contain_text(f"No. {letter.pk} was discarded.")
    heading(page).to_have_text("capture_payment was discarded")
    expect(page.locator(".hist")).to_contain_text("Fixed by hand: paid by bank transfer")
    message.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("is open again")
    assert DeadLetter.objects.get(pk=letter.pk).state == State.OPEN


def test_a_tenants_admin_sees_only_their_own_letters_in_plain_words(
    sign_in: SignIn, world: World, live_server: object, context: BrowserContext
) -> None:
    mine = world.tenant("mine", may_replay=True)
    own, foreign = world.letter(mine), world.letter(world.tenant("rival"))
    page = sign_in(Role.TENANT_ADMIN, mine, "/dlq/?by=one")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.goto(f"{live_server}/dlq/{own.pk}/")
    heading(page).to_have_text("Send did not work")
    expect(page.locator("main")).not_to_contain_text(re.compile("worker|ConnectionError|billing|rival", re.IGNORECASE))
    page.goto(f"{live_server}/dlq/{foreign.pk}/")
    heading(page).to_have_text("There is nothing here.")


def test_a_button_of_a_page_from_before_a_new_sign_in_changes_nothing_and_says_so(
    sign_in: SignIn, world: World, live_server: object, context: BrowserContext
) -> None:
    """HX-03: signed in again in another tab, the old tab's token no longer counts."""
    letter = world.letter(world.tenant("acme"), job_type="billing.capture_payment")
    old = sign_in(Role.ON_CALL, following=f"/dlq/{letter.pk}/")
    context.clear_cookies()
    sign_in(Role.ON_CALL)
    old.locator("#discard select").select_option("Fixed by hand")
    old.get_by_role("button", name="Discard this one").click()
    heading(old).to_have_text("That page was out of date.")
    old.get_by_role("link", name="Open it anew").click()
    old.wait_for_url(f"{live_server}/dlq/{letter.pk}/")
    assert DeadLetter.objects.get(pk=letter.pk).state == State.OPEN
