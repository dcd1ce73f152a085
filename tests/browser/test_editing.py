"""Other arguments for one replay and redirects in a browser: typed, looked at, sent; and fit for any screen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from playwright.sync_api import Page, expect

from dlq.models import DeadLetter, Redirect, ReplayRun
from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import problems, unreadably_small
from tests.web.causes import cause, letter_of
from tests.web.world import World

pytestmark = pytest.mark.look

META = {"token": "s3cret", "lines": [{"sku": f"SKU-{number}", "count": number} for number in range(3)]}
PAYLOAD = {
    "args": [],
    "kwargs": {"invoice": 4711, "amount": {"__jobops__": "decimal", "v": "12.50"}, "card": "4242-4242", "meta": META},
}


@pytest.fixture(autouse=True)
def types() -> Iterator[None]:
    with temporary_registry():

        @job(name="billing.capture_payment", owner="billing", drain_sla="4h", idempotent="upserts by invoice",
             guard=lambda **each: str(each), redact=["card"])  # fmt: skip
        def capture(invoice: int, amount: Decimal, card: str, meta: dict[str, Any], note: str = "") -> None: ...

        yield


@pytest.fixture
def letter(world: World) -> DeadLetter:
    acme = world.tenant("acme-retail")
    group = cause(job_type="billing.capture_payment")
    made = letter_of(world, group, acme, payload=json.dumps(PAYLOAD), key="invoice:4711", checkpoint='{"row":3}')
    for _ in range(3):
        letter_of(world, cause(job_type="payments.capture_the_payment_of_one_order"), acme)
    return made


def test_arguments_are_typed_looked_at_and_sent(sign_in: SignIn, letter: DeadLetter) -> None:
    page = sign_in(Role.SUPERUSER, following=f"/dlq/{letter.pk}/")
    page.get_by_role("link", name="Edit and replay").click()
    page.get_by_label("invoice").fill("4712")
    page.get_by_label("amount").fill("12.50")
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_role("heading", name="2 arguments would change")).to_be_visible()
    expect(page.get_by_text("was a decimal, becomes a number")).to_be_visible()
    page.get_by_role("button", name="Change them").click()
    expect(page.get_by_label("invoice")).to_have_value("4712")
    page.get_by_label("amount").fill('{"$decimal": "13"}')
    page.get_by_role("button", name="Show what would change").click()
    page.get_by_role("button", name="Send it back to run with these").click()
    expect(page.get_by_text(f"No. {letter.pk} was sent back to run with other arguments, this once.")).to_be_visible()
    kwargs = json.loads(ReplayRun.objects.get().payload)["kwargs"]
    assert kwargs == PAYLOAD["kwargs"] | {"invoice": 4712, "amount": {"__jobops__": "decimal", "v": "13"}}  # type: ignore[operator]
    page.get_by_text("2 arguments changed").click()
    expect(page.get_by_role("cell", name="is: 4712")).to_be_visible()


def test_what_a_redirect_would_do_follows_what_is_typed(sign_in: SignIn, letter: DeadLetter) -> None:
    page = sign_in(Role.OPERATOR, following="/settings/redirects/")
    page.get_by_label("Redirect payments.capture_the_payment_of_one_order").click()
    page.get_by_label("Replay as").select_option("billing.capture_payment")
    expect(page.locator("#preview")).to_contain_text("0 of 3 open dead letters would be replayable.")
    expect(page.locator("#preview")).to_contain_text("3 would not: its arguments do not fit")
    page.get_by_role("button", name="Add it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("1 redirect, and each leads to a registered type.")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_fit_and_can_be_read(sign_in: SignIn, letter: DeadLetter, live_server: object, theme: str) -> None:
    Redirect.objects.create(
        from_type="payments." + "x" * 90, to_type="billing.capture_payment", note="renamed " * 20, by="olga"
    )
    Redirect.objects.create(from_type="mail.send_old", to_type="mail.gone", by="olga")
    other = DeadLetter.objects.exclude(pk=letter.pk).earliest("pk")
    edited = PAYLOAD["kwargs"] | {"invoice": 4712, "card": "1111-2222", "note": "x" * 200}  # type: ignore[operator]
    letter.runs.create(
        number=1, job_id="edited-r1", by="ada", state="died", note="Replay 1 died again: x.",
        payload=json.dumps({"args": [], "kwargs": edited}), ended_at=timezone.now() - timedelta(minutes=2),
    )  # fmt: skip
    DeadLetter.objects.filter(pk=letter.pk).update(replays=1, replay_job_id="edited-r1")
    page = sign_in(Role.OPERATOR, following="/settings/redirects/")
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    fits(page, f"redirects-{theme}")
    page.goto(f"{live_server}/settings/redirects/?from=payments.capture_the_payment_of_one_order")
    page.get_by_label("Replay as").select_option("billing.capture_payment")
    expect(page.locator("#preview")).to_contain_text("would be replayable")
    fits(page, f"redirect-preview-{theme}")
    page.goto(f"{live_server}/dlq/groups/{other.group_id}/")
    fits(page, f"group-{theme}")
    page.goto(f"{live_server}/dlq/{other.pk}/")
    fits(page, f"unknown-{theme}")
    page.context.clear_cookies()
    page = sign_in(Role.SUPERUSER, following=f"/dlq/{letter.pk}/")
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.get_by_text("3 arguments changed").click()
    fits(page, f"letter-{theme}")
    page.goto(f"{live_server}/dlq/{letter.pk}/edit/")
    fits(page, f"form-{theme}")
    page.get_by_label("invoice").fill("nope")
    page.get_by_role("button", name="Show what would change").click()
    fits(page, f"fault-{theme}")
    page.get_by_label("invoice").fill("4712")
    page.get_by_label("note").fill('"' + "x" * 200 + '"')
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_text("would change").first).to_be_visible()
    fits(page, f"preview-{theme}")


def test_a_form_with_masked_values_fits_too(sign_in: SignIn, letter: DeadLetter, live_server: object) -> None:
    page = sign_in(Role.ON_CALL)
    User.objects.latest("pk").user_permissions.add(Permission.objects.get(codename="edit_payload"))
    page.goto(f"{live_server}/dlq/{letter.pk}/edit/")
    expect(page.get_by_label("What becomes of card")).to_have_value("keep")
    assert "4242" not in page.content()
    fits(page, "masked")


def fits(page: Page, name: str) -> None:
    """Nothing sideways, nothing unreadable."""
    found: list[Any] = []
    for width in (320, 390, 961, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        found += [(width, over)] if over else []
        if width in (390, 1440):
            found += problems(page) + unreadably_small(page)
    assert found == [], (name, found)
