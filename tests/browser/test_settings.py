"""The editor of the ownership rules in a browser: what a text would do follows while it is typed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from dlq.models import DeadLetter
from jobops.contracts.registry import temporary_registry
from jobops.web.selectors import settings_rules
from tenants.models import Team
from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.contracts.catalogs import declare
from tests.web.world import World

pytestmark = pytest.mark.look

TEXT = "* -> operations\njob=shop.jobs.* -> payments sla=4h\njob=mail.* -> nobodys"


@pytest.fixture(autouse=True)
def things(world: World) -> Iterator[None]:
    """Two teams, and five letters that are operations'."""
    settings_rules.forget()
    for name in ("operations", "payments"):
        Team.objects.create(name=name)
    acme = world.tenant("acme")
    for _ in range(5):
        world.letter(acme, owner="operations")
    with temporary_registry():
        declare(name="shop.jobs.send", owner="operations")
        declare(name="mail.send", owner="operations")
        yield
    settings_rules.forget()


def test_a_rule_is_typed_looked_at_and_put_in_force(sign_in: SignIn) -> None:
    page = sign_in(Role.OPERATOR, following="/settings/rules/")
    expect(page.locator("#preview")).to_contain_text("No rule: contracts say whose a dead letter is.")
    editor = page.get_by_label("The rules, one a line")
    editor.press_sequentially(TEXT)
    preview = page.locator("#preview")
    expect(preview).to_contain_text("Would take 5 open dead letters from operations.")
    expect(preview).to_contain_text("no team is called nobodys")
    assert editor.input_value() == TEXT
    editor.press_sequentially("x")
    page.get_by_role("button", name="Save and put in force").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was saved")
    editor = page.get_by_label("The rules, one a line")
    editor.fill(TEXT.rpartition("\n")[0])
    page.get_by_label("Why?").fill("shop is theirs")
    page.get_by_role("button", name="Save and put in force").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("2 rules say whose a dead letter is.")
    expect(page.get_by_role("cell", name="shop is theirs")).to_be_visible()
    assert set(DeadLetter.objects.values_list("owner", flat=True)) == {"payments"}


@pytest.mark.parametrize("url", ["/settings/", "/settings/teams/", "/settings/teams/{team}/", "/settings/rules/"])
def test_nothing_is_wider_than_a_telephone(sign_in: SignIn, url: str) -> None:
    Team.objects.filter(name="payments").update(about="x" * 200)
    page = sign_in(Role.OPERATOR, following=url.format(team=Team.objects.get(name="payments").pk))
    for width in (320, 390, 961, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (url, width)
