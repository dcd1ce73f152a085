"""What a screen holds of the dead letters: words in one piece, many rows on a narrow screen, nothing covered."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from dlq.models import DeadLetter
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.browser.test_dlq import polled
from tests.web.bulks import draft, replayable
from tests.web.world import World

pytestmark = pytest.mark.look

# Words that stand on more than one line, of those that would fit into a column.
BROKEN_WORDS = """() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    if (!text.parentElement.closest("table") || text.parentElement.closest(".vh")) continue;
    for (const word of text.data.matchAll(/[A-Za-z0-9]{2,18}/g)) {
      const range = document.createRange();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""

# How far the page is scrolled where the whole note is in view and yet its middle is something else.
COVERED = """() => {
  const note = document.getElementById("note");
  const covered = [];
  for (let y = 0; y < document.documentElement.scrollHeight; y += 20) {
    window.scrollTo({top: y, behavior: "instant"});
    const box = note.getBoundingClientRect();
    if (box.top < 60 || box.bottom > innerHeight) continue;
    if (document.elementFromPoint(box.left + box.width / 2, (box.top + box.bottom) / 2) !== note) covered.push(y);
  }
  return covered;
}"""


ERROR = "HTTP 503 from https://hooks.example: try again later, as this server is busy " * 3
SHORT = (("payments", "identity", "shipping"), ("acme", "initech", "globex"))
LONG = (
    ("payments", "customer-success", "platform-reliability"),
    ("acme", "northern-lights-logistics", "weiss-und-soehne-gmbh"),
)


def failures(world: World, count: int = 12, names: tuple[tuple[str, ...], tuple[str, ...]] = LONG) -> list[DeadLetter]:
    owners, slugs = names
    tenants = [world.tenant(slug) for slug in slugs]
    return [
        replayable(
            world, tenants[n % 3], owner=owners[n % 3], error=ERROR,
            error_class="shop.errors.PaymentGatewayError", due_at=timezone.now() + timedelta(hours=n - 1),
            state="replaying" if n % 5 == 4 else "open", replays=n % 2, last_died_at=timezone.now(),
        )
        for n in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("names", [SHORT, LONG])
def test_words_stay_in_one_piece_where_there_is_room(
    sign_in: SignIn, world: World, live_server: object, names: tuple[tuple[str, ...], tuple[str, ...]]
) -> None:
    letters = failures(world, names=names)
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    client = world.client(Role.ON_CALL)
    bulk = draft(client, "replay", [letter.pk for letter in letters])
    for width in (1024, 1240, 1440, 1680):
        page.set_viewport_size({"width": width, "height": 900})
        for url in ("/dlq/?by=one", f"/dlq/replays/{bulk.pk}/", "/dlq/replays/"):
            page.goto(f"{live_server}{url}")
            assert page.evaluate(BROKEN_WORDS) == [], (url, width)
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over == 0, (url, width)


def test_a_narrow_screen_holds_several_rows_and_the_tab_one_stands_on(
    sign_in: SignIn, world: World, live_server: object
) -> None:
    failures(world)
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{live_server}/dlq/?by=one")
    tops = page.locator(".ll tbody tr").evaluate_all("rows => rows.map((row) => row.getBoundingClientRect().top)")
    assert sum(top < 844 - 60 for top in tops) >= 4, "rows in view, however long their names are"
    for status in ("discarded", "replaying", "undrained"):
        page.goto(f"{live_server}/dlq/?status={status}")
        tab = page.locator(".views [aria-current]").bounding_box()
        assert tab is not None
        assert tab["x"] >= 0
        assert tab["x"] + tab["width"] <= 390, status


def test_nothing_covers_what_is_typed_on_a_narrow_screen(sign_in: SignIn, world: World, live_server: object) -> None:
    letters = failures(world)
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    for kind in ("replay", "discard"):
        bulk = draft(world.client(Role.ON_CALL), kind, [letter.pk for letter in letters])
        page.set_viewport_size({"width": 390, "height": 600})
        page.goto(f"{live_server}/dlq/{kind}s/{bulk.pk}/")
        assert page.evaluate(COVERED) == [], kind


def test_the_number_in_the_navigation_lives_with_the_list(sign_in: SignIn, world: World) -> None:
    """UP-01: title, tab and navigation say the same after a poll; at none, the navigation says none."""
    letters = failures(world, 3)
    page = sign_in(Role.ON_CALL, following="/dlq/?by=one")
    page.clock.install()
    page.reload()
    count = page.locator("nav [data-undrained-count]")
    expect(count).to_have_text("3")
    DeadLetter.objects.filter(pk=letters[0].pk).update(state="discarded")
    polled(page)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("^2 dead letters are to be drained"))
    expect(count).to_have_text("2")
    DeadLetter.objects.update(state="resolved")
    polled(page)
    expect(count).to_be_hidden()


def test_what_is_passed_over_takes_nothing_as_a_whole(sign_in: SignIn, world: World, live_server: object) -> None:
    failures(world, 3)
    page = sign_in(Role.ON_CALL, following="/dlq/?status=foo")
    expect(page.get_by_label("all 3 that match")).to_be_disabled()
    page.get_by_role("button", name="Discard").click()
    expect(page.locator("#gone")).to_have_text("Nothing is ticked. Tick what is meant.")
    page.locator("tbody input[name=ids]").first.check()
    page.get_by_role("button", name="Untick all").click()
    expect(page.locator("#ticked")).to_have_text("Tick some")
    page.locator("tbody input[name=ids]").first.check()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Discard 1 dead letter")
