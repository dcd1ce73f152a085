"""Alerts in a real browser: they appear by themselves, are taken from the overview, and their pages can be used."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from jobops.alerts.acting import alert_acknowledge
from jobops.alerts.models import Alert, AlertRule, Delivery, Silence
from tenants.models import Team
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_look import WIDTHS, problems, unreadably_small
from tests.web.alert_things import alert_of, channel_of, silence_of
from tests.web.world import World

pytestmark = pytest.mark.look


def alarms(page: Page) -> str:
    """What the navigation counts; empty while it is hidden."""
    place = page.locator(".nav-l [data-alarms-count]")
    return place.locator("[data-n]").inner_text() if place.is_visible() else ""


def test_one_that_fires_appears_by_itself_and_is_taken_from_the_overview(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    world.worker()
    page = sign_in(Role.ON_CALL)
    assert alarms(page) == ""
    alert = alert_of("acme")
    expect(page.get_by_role("heading", level=1)).to_have_text("acme has 48,210 jobs waiting in bulk.", timeout=15_000)
    assert alarms(page) == "1"
    assert "cnt-d" in (page.locator(".nav-l [data-alarms-count]").get_attribute("class") or "")
    page.get_by_role("button", name="Acknowledge").click()
    page.wait_for_url("**/tenants/acme/")
    alert.refresh_from_db()
    assert alert.state == Alert.State.ACKNOWLEDGED
    page.get_by_role("link", name="Alerts").first.click()
    expect(page.locator(f"#al-{alert.pk}")).to_contain_text(f"{alert.acknowledged_by} has it")


def test_a_silence_is_made_from_an_alert_and_ended(sign_in: SignIn, world: World, live_server: object) -> None:
    world.tenant("acme")
    alert = alert_of("acme")
    page = sign_in(Role.ON_CALL, None, "/alerts/")
    page.locator(f"#al-{alert.pk}").get_by_role("link", name="Silence…").click()
    page.get_by_label("Why?").fill("they load their year")
    page.get_by_role("button", name="Silence").click()
    page.wait_for_url("**/alerts/silences/*")
    expect(page.locator(".banner")).to_contain_text("Nobody is told of")
    assert Silence.objects.get().tenant == "acme"
    page.get_by_role("button", name="End it").click()
    expect(page.locator(".banner")).to_contain_text("People are told again")


def crowded(world: World) -> dict[str, str]:
    """Every state, long names, failures: what stretches the pages. Answers them by name."""
    now, long = timezone.now(), "x" * 60
    world.tenant("acme")
    worst = alert_of("worst", signal="sla_breach", severity="critical", due_at=now, told_at=now, owner="o" * 60)
    alert_of("low", severity="low", title=f"The clock of {long} is off", detail=long * 3)
    known = alert_of("known")
    alert_acknowledge(alert_id=known.pk, by="olga")
    alert_of("quiet-one")
    silence_of(reason=long * 4)
    silence_of(tenant="old", ends_at=now - timedelta(days=1))
    alert_of("over", state="resolved", resolved_at=now, title=long * 3)
    team = Team.objects.create(name="t" * 50)
    url = f"https://{'h' * 60}.example.com/{long}"
    hook = channel_of("c" * 50, kind="webhook", target=url, secret="k" * 20, team=team, enabled=False)
    for state in Delivery.State.values:
        row = {"event": "fired", "state": state, "attempts": 3, "answer": f"HTTP 503: {long * 3}"}
        Delivery.objects.create(key=state, alert=worst, channel=hook, **row)
    AlertRule.objects.create(signal="depth", job_type=long, threshold=5.0, for_s=60, owner="o" * 60, by="b" * 60)
    return {
        "overview": "/",
        "alerts": "/alerts/",
        "alert": f"/alerts/{worst.pk}/",
        "over": "/alerts/?state=resolved",
        "silences": f"/alerts/silences/?alert={worst.pk}",
        "channels": "/settings/channels/",
        "channel": f"/settings/channels/{hook.pk}/",
        "thresholds": "/settings/alert-rules/",
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_scrolls_sideways(
    sign_in: SignIn, world: World, live_server: object, theme: str
) -> None:
    pages = crowded(world)
    page = sign_in(Role.OPERATOR)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found: dict[tuple[str, int], object] = {}
    for name, url in pages.items():
        page.goto(f"{live_server}{url}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if over:
                found[name, width] = over
            if width in (390, 1440) and (faults := problems(page) + unreadably_small(page)):
                found[name, width] = faults
    assert found == {}
