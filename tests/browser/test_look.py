"""How the pages look and can be used: accessibility, no sideways scrolling, both themes, no wide reach."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import axe_playwright_python
import pytest
from django.utils import timezone
from playwright.sync_api import Page

from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.engine.records import Outcome
from tenants.models import Tenant
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.web.world import World

AXE = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text()
pytestmark = pytest.mark.look
WIDTHS = (320, 390, 768, 960, 961, 1239, 1240, 1440, 1920)
# After a change of theme, buttons fade for 150 ms from the colours of one into those of the other, and are grey on grey
# meanwhile; a change begins with the next frame.
SETTLED = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  const ending = document.getAnimations().filter(each => each.effect.getComputedTiming().endTime !== Infinity);
  await Promise.all(ending.map(each => each.finished.catch(() => null)));
}"""
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    """Job types that keep their promises and that break them, with names as long as people make them."""
    with temporary_registry():
        job(name="shop.jobs.send", owner="shop", drain_sla="4h", idempotent="upserts by number", timeout="30s")(_send)
        job(name="shop.jobs." + "w" * 80, owner="o" * 90, lane="interactive", guard=_key, redact=["n" * 60])(_send)
        yield


def _send(number: int = 0) -> None:
    """Send it to `https://hooks.example/averylongpathwithoutanyplacetobreakitbutthisone`, once."""


def _key(number: int = 0) -> str:
    return str(number)


def busy_world(world: World) -> dict[str, str]:
    """Every condition, long names, failures: what stretches a page. Answers the pages by name."""
    acme = world.tenant("acme-retail", cap=1, weight=3)
    long = world.tenant("a" * 50, cap=None, paused=True, paused_by="olga", pause_reason="their database is being moved")
    for _ in range(120):
        world.enqueue("acme-retail", "shop.jobs.export_orders_of_the_last_quarter")
    world.enqueue(long.slug, "x" * 200)
    failed = world.claim()
    error = "https://hooks.example/" + "very-long-path/" * 20
    world.settle(failed, Outcome.failed("poison", "shop.errors.WebhookRefused", error, f"Traceback\n  {error}"))
    running = world.claim()
    world.worker(slots=4, busy=running.id, name="web-1.example.internal-4711-a3f")
    for minutes in (-33, 40):
        due = timezone.now() + timedelta(minutes=minutes)
        letter = world.letter(acme, due_at=due, error=error, job_type="shop.jobs." + "y" * 100, **at_length(error))
    closed = world.letter(
        acme, state="discarded", drained_at=timezone.now(), discard_reason="z" * 500, drained_by="olga"
    )
    return {
        "overview": "/",
        "nothing found": "/?find=nobody",
        "tenants": "/tenants/",
        "tenant": "/tenants/acme-retail/",
        "paused tenant": f"/tenants/{long.slug}/",
        "failed job": f"/jobs/{failed.id}/",
        "running job": f"/jobs/{running.id}/",
        "dead letters": "/dlq/",
        "a tenant's dead letters": "/dlq/?tenant=acme-retail",
        "dead letter": f"/dlq/{letter.pk}/",
        "discarded letter": f"/dlq/{closed.pk}/",
        "demo": "/demo/",
        "workers": "/workers/",
        "catalog": "/catalog/",
        "not found": "/nothing-here/",
    }


def at_length(text: str) -> dict[str, object]:
    """What a letter tells at length: a traceback with library frames, attempts of a replay too, long arguments."""
    told = {"worker": "w" * 60, "started_at": timezone.now().isoformat(), "error_class": "x.Y", "error": text}
    frames = f'  File "/srv/app/{"deep/" * 30}a.py", line 1, in f\n    {"call()" * 50}\n'
    frames += '  File "/usr/lib/python3.11/json/decoder.py", line 2, in g\n    pass\n'
    return {
        "history": [told | {"n": 1, "outcome": "timeout"}, told | {"n": 1, "outcome": "worker_lost", "replay": 1}],
        "traceback": f"Traceback (most recent call last):\n{frames}ValueError: {text}\n",
        "payload": json.dumps({"args": [], "kwargs": {"number": 1, "ids": list(range(5_000)), "text": "t" * 2_000}}),
        "note": text,
    }


def problems(page: Page) -> list[str]:
    page.evaluate(AXE)
    page.evaluate(SETTLED)
    # Only what is wrong leaves the browser: all that axe looked at takes longer to send than to look at.
    violations = page.evaluate("rules => axe.run(document, rules).then(found => found.violations)", RULES)
    return [
        f"{each['id']} ({each['impact']}): {each['help']}: {[node['target'] for node in each['nodes']][:3]}"
        for each in violations
    ]


def unreadably_small(page: Page) -> list[str]:
    return page.evaluate(  # type: ignore[no-any-return]
        """[...document.querySelectorAll('main *')].filter(e => e.childNodes.length && e.offsetParent
           && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())
           && parseFloat(getComputedStyle(e).fontSize) < 11).map(e => e.outerHTML.slice(0, 80))"""
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page_of_staff(sign_in: SignIn, world: World, live_server: object, theme: str) -> None:
    """WCAG 2.2 AA and best practice, narrow and wide."""
    page = sign_in(Role.OPERATOR)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found = {}
    for name, url in busy_world(world).items():
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}{url}")
            found[name, width] = problems(page) + unreadably_small(page)
    assert {key: value for key, value in found.items() if value} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page_of_a_tenants_people(
    sign_in: SignIn, world: World, live_server: object, theme: str
) -> None:
    pages = busy_world(world)
    page = sign_in(Role.TENANT_ADMIN, world.tenant("mine", may_pause=True))
    world.enqueue("mine")
    letter = world.letter(Tenant.objects.get(slug="mine"))
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found = {}
    for url in ("/", "/tenants/mine/", "/tenants/", "/dlq/", f"/dlq/{letter.pk}/", pages["tenant"]):
        page.goto(f"{live_server}{url}")
        found[url] = problems(page) + unreadably_small(page)
    page.locator("summary.who").click()
    found["open menu"] = problems(page)
    page.context.clear_cookies()
    page.goto(f"{live_server}/login/?next=/workers/&ended=1")
    found["sign-in"] = problems(page)
    assert {key: value for key, value in found.items() if value} == {}


def test_no_page_scrolls_sideways_from_320_to_1920(sign_in: SignIn, world: World, live_server: object) -> None:
    page = sign_in(Role.OPERATOR)
    wide = []
    for name, url in busy_world(world).items():
        page.goto(f"{live_server}{url}")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if over:
                wide.append((name, width, over))
    assert wide == [], wide


def test_the_menu_reaches_every_page_on_a_narrow_screen(sign_in: SignIn, world: World, live_server: object) -> None:
    page = sign_in(Role.OPERATOR)
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator("summary.who").click()
    page.locator(".menu-l").get_by_role("link", name="Workers").click()
    page.wait_for_url(f"{live_server}/workers/")


def test_a_phone_shows_that_the_figures_are_fresh(sign_in: SignIn, world: World) -> None:
    page = sign_in(Role.OPERATOR)
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator("[data-live-line].on").wait_for()
    assert "Live," in page.locator("[data-words]").inner_text()


def test_a_page_is_used_by_keyboard_alone(sign_in: SignIn, world: World) -> None:
    """The skip link comes first, and what has the focus can be seen."""
    world.tenant("acme")
    page = sign_in(Role.OPERATOR)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "/dlq/"
    page.keyboard.press("Tab")
    focused = page.evaluate(
        "[document.activeElement.id, getComputedStyle(document.activeElement.closest('.find')).outlineStyle]"
    )
    assert focused == ["find", "solid"]


def test_pages_load_nothing_from_elsewhere(sign_in: SignIn, world: World, live_server: object) -> None:
    page = sign_in(Role.OPERATOR)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for url in busy_world(world).values():
        page.goto(f"{live_server}{url}")
    assert asked
    assert [url for url in asked if not url.startswith((str(live_server), "data:"))] == []
