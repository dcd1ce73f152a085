"""A tenant's people see their own tenants only, in the browser too."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tenants.roles import Role
from tests.browser.conftest import SignIn
from tests.web.world import World


def test_a_tenants_admin_meets_no_other_tenant_anywhere(sign_in: SignIn, world: World, live_server: object) -> None:
    mine = world.tenant("mine", cap=3)
    rival = world.tenant("rival")
    own, foreign = world.enqueue("mine"), world.enqueue("rival")
    world.letter(rival)
    page = sign_in(Role.TENANT_ADMIN, mine)
    expect(page.get_by_role("heading", level=1)).to_have_text("1 waits its turn.")
    seen = []
    page.on("response", lambda response: "/static/" not in response.url and seen.append(response.text()))
    for url in ("/", "/tenants/", "/tenants/mine/", f"/jobs/{own}/", "/?find=rival", "/tenants/?find=rival"):
        page.goto(f"{live_server}{url}")
    with page.expect_response(re.compile("/live/"), timeout=15_000):
        page.goto(f"{live_server}/tenants/mine/")
    assert len(seen) >= 7
    assert not any(
        re.search(r'rival(?!" [a-z-]+=| ?”)', text.replace('value="rival"', "").replace("find=rival", ""))
        for text in seen
    )
    for url in ("/tenants/rival/", f"/jobs/{foreign}/", "/tenants/nobody/"):
        page.goto(f"{live_server}{url}")
        expect(page.get_by_role("heading", level=1)).to_have_text("There is nothing here.")
    page.goto(f"{live_server}/workers/")
    expect(page.get_by_role("heading", level=1)).to_have_text("You may not do this.")
