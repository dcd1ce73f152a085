"""A message over a page that refreshes itself: it goes once the page shows something else."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from dlq.models import DeadLetter, State
from dlq.outcomes import take_outcomes
from jobops.engine.records import Outcome
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.web.bulks import replayable
from tests.web.world import World

pytestmark = pytest.mark.look


@pytest.fixture
def letter(world: World) -> DeadLetter:
    return replayable(world, world.tenant("acme", may_replay=True))


def replayed(page: Page) -> None:
    page.get_by_role("button", name="Replay", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("send_invoice is being replayed")


def poll(page: Page) -> None:
    """What the page does by itself every 5 seconds, now."""
    with page.expect_response(lambda answer: "/live/" in answer.url):
        page.locator("#live").dispatch_event("live")


def test_that_it_was_sent_back_goes_when_the_letter_is_open_again(
    sign_in: SignIn, world: World, letter: DeadLetter
) -> None:
    page = sign_in(Role.ON_CALL, following=f"/dlq/{letter.pk}/")
    replayed(page)
    message = page.get_by_role("status")
    expect(message).to_contain_text("was sent back to run.")
    poll(page)
    expect(message).to_contain_text("was sent back to run.")
    world.settle(world.claim(), Outcome.discarded("ValueError", "nothing to do"))
    take_outcomes(world.engine)
    assert DeadLetter.objects.get(pk=letter.pk).state == State.RESOLVED
    poll(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("was ended by its contract")
    expect(message).to_have_count(0)


def test_that_it_was_cancelled_goes_when_the_letter_is_open_again(
    sign_in: SignIn, world: World, letter: DeadLetter
) -> None:
    page = sign_in(Role.ON_CALL, following=f"/dlq/{letter.pk}/")
    replayed(page)
    page.get_by_role("button", name="Cancel the replay").click()
    message = page.get_by_role("status")
    expect(message).to_contain_text("was cancelled, which opens it again.")
    take_outcomes(world.engine)
    poll(page)
    expect(page.get_by_role("heading", level=1)).to_contain_text("failed in every one of 3 attempts")
    expect(message).to_have_count(0)
