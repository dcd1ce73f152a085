"""A job's page in a browser: why it is where it is, its buttons, and stopping it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from jobops.contracts.decorator import job
from jobops.contracts.registry import temporary_registry
from jobops.engine.records import Outcome, Policy
from tenants.models import Tenant
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_live import tick, with_a_clock
from tests.browser.test_look import problems
from tests.web.world import World

pytestmark = pytest.mark.look


@pytest.fixture(autouse=True)
def declared() -> Iterator[None]:
    with temporary_registry():
        job(name="shop.jobs.send", owner="shop", drain_sla="4h", idempotent="upserts by number", timeout="30s")(_send)
        yield


def _send(number: int = 0) -> None: ...


def held(world: World) -> dict[str, str]:
    """A job of each kind that the page has something to say of; what → id."""
    world.tenant("acme")
    scripts = world.engine.scripts
    scripts.set_limit("stripe", 1, None)
    world.worker(slots=2)
    later = world.enqueue("acme", max_attempts=5)
    world.settle(world.claim(), Outcome.failed("error", "HTTPError", "503 Service Unavailable", delay_ms=3_600_000))
    running = world.enqueue("acme", resource="stripe", checkpoint=b'{"last_id": 880391, "captured": 118}')
    claimed = world.claim()
    scripts.save_progress(running, claimed.token, 118, 240)
    waiting = [world.enqueue("acme", resource="stripe") for _ in range(3)]
    assert scripts.claim("s", 1, "w", ["bulk"], 0).job is None
    behind = [world.enqueue("acme", key=f"invoice:{n}") for n in range(12)]
    scripts.set_policy(Policy("acme", cap=1, version=2**52))
    scripts.pause("acme")
    Tenant.objects.update(paused=True, paused_by="olga", pause_reason="their database is being moved")
    return {"backing off": later, "running": running, "waiting": waiting[2], "behind": behind[11]}


def is_narrow_enough(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_state_fits_and_can_be_used_by_all(
    sign_in: SignIn, world: World, live_server: object, theme: str
) -> None:
    page = sign_in(Role.ON_CALL)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found = {}
    for name, job_id in held(world).items():
        for width in (320, 390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(f"{live_server}/jobs/{job_id}/")
            found[name, width] = problems(page)
            assert is_narrow_enough(page), (name, width)
    assert {place: faults for place, faults in found.items() if faults} == {}


def test_a_reason_that_is_being_typed_outlives_the_polls(sign_in: SignIn, world: World) -> None:
    """HX-06"""
    world.tenant("acme")
    running = world.enqueue("acme")
    world.claim()
    page = with_a_clock(sign_in(Role.ON_CALL, following=f"/jobs/{running}/"))
    page.get_by_role("link", name="Stop").click()
    page.get_by_label("Why?").fill("wrong file")
    page.get_by_label("Run it again at once").check()
    with page.expect_response(lambda answer: "/live/jobs/" in answer.url):
        tick(page, 6_000)
    expect(page.get_by_label("Why?")).to_have_value("wrong file")
    expect(page.get_by_label("Run it again at once")).to_be_checked()
    page.get_by_role("button", name="Stop it").click()
    expect(page.get_by_text("The job is being stopped; that takes a moment.")).to_be_visible()
    expect(page.locator('[data-kind="stopping"]')).to_contain_text("wrong file")
    assert world.engine.redis.hget(world.engine.keys.lease(running), "stop") == b"retry"


def test_the_reasons_change_by_themselves(sign_in: SignIn, world: World) -> None:
    world.tenant("acme")
    world.worker()
    waiting = world.enqueue("acme")
    world.engine.scripts.pause("acme")
    page = with_a_clock(sign_in(Role.ON_CALL, following=f"/jobs/{waiting}/"))
    expect(page.locator('[data-kind="tenant_paused"]')).to_be_visible()
    world.engine.scripts.resume("acme")
    tick(page, 6_000)
    expect(page.locator('[data-kind="tenant_paused"]')).to_be_hidden(timeout=30_000)
