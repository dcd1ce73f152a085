"""A night on call from its alert to its report, in a browser, on real workers and a real scheduler.

Three causes at once, as the demo lets go wrong: one that can be mended, one that no replay helps, one that stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from email import message_from_bytes, policy
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from playwright.sync_api import expect

from dlq.models import DeadLetter, DeadLetterGroup, State
from jobops.alerts.models import Alert, Delivery
from jobops.demo import receiver, seed
from jobops.demo.cast import SHOPS
from jobops.demo.crew import assemble, signing_key
from jobops.demo.models import Order
from jobops.demo.places import Places
from jobops.demo.sink import Sink
from jobops.demo.stage import settings_of_the_demo
from tenants.models import Team
from tenants.roles import Role
from tenants.teams import member_add
from tests.browser.conftest import SignIn
from tests.browser.steps import Steps
from tests.demo.servers import serving
from tests.runtime.processes import running
from tests.tools import wait_for
from tests.web.world import World

DEATHS = {"billing.capture_payment": 180, "billing.report_invoice": 75, "exports.export_orders": 45}
OWNERS = {
    "billing.capture_payment": "payments",
    "billing.report_invoice": "billing",
    "exports.export_orders": "data-exports",
}
ALL = sum(DEATHS.values())
SLOW_MS = 120_000


@pytest.fixture
def places() -> Places:
    return Places(settings.HOME_DIR)


@pytest.fixture
def night(sign_in: SignIn, world: World, live_server: object, places: Places, tmp_path: Path) -> Iterator[Steps]:
    """The demo's shops, teams, rules, channels and servers; a worker with two slots, and a scheduler."""
    for shop in SHOPS:
        world.tenant(shop.slug, may_replay=True)
        Order.objects.bulk_create(seed._orders(replace(shop, orders=90), date.today()))  # noqa: DTZ011
    with serving(places, receiver.Desk(), Sink(signing_key(places))) as services:
        assemble(places, services)
        page = sign_in(Role.ON_CALL, following="/demo/")
        person = User.objects.get()
        member_add(team=Team.objects.get(name="payments"), user=person, by="test")
        own = settings_of_the_demo(services, f"{live_server}/")
        alerts = {name: value for name, value in own.items() if "LANES" not in name}
        with (
            running(tmp_path / "worker.log", "worker", "--processes", "2"),
            running(tmp_path / "scheduler.log", "scheduler", **alerts),
        ):
            yield Steps(page, str(live_server), person.username)


def group_of(job_type: str) -> DeadLetterGroup:
    return DeadLetterGroup.objects.get(job_type=job_type)


def fired_mails(places: Places) -> Counter[tuple[str, str]]:
    """To whom which new cause was told by mail, and how often."""
    mails = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in places.team_mail.glob("*.eml")]
    found = [(str(mail["To"]), str(mail["Subject"]).strip()) for mail in mails]
    return Counter((to, subject) for to, subject in found if "Firing: A new cause" in subject)


def it_goes_wrong(night: Steps) -> None:
    night.headed("Every server is up.")
    night.page.get_by_label("Deaths").fill(str(ALL))
    night.press("Let it go wrong")
    night.said(f"{ALL} jobs of three kinds run now, and will die")
    night.headed("The payment provider is down")

    def died() -> dict[str, int]:
        return dict(Counter(DeadLetter.objects.values_list("job_type", flat=True)))

    wait_for(lambda: died() == DEATHS, seconds=180, what=f"{ALL} deaths")
    groups = list(DeadLetterGroup.objects.values_list("job_type", "open", "tenants", "owner"))
    assert sorted(groups) == sorted((job, count, 5, OWNERS[job]) for job, count in DEATHS.items())


def an_alert_names_each_cause_once_to_the_right_team(night: Steps, places: Places) -> None:
    fired = Delivery.objects.filter(alert__signal="new_cause", event="fired", state="sent")
    wait_for(lambda: fired.count() == 2 * len(DEATHS), seconds=60, what="each cause told by mail and by chat")
    alerts = Alert.objects.filter(signal="new_cause").values_list("scope__job_type", "owner")
    assert sorted(alerts) == sorted(OWNERS.items())
    mails = fired_mails(places)
    assert {to: count for (to, _), count in mails.items()} == {f"{team}@teams.example": 1 for team in OWNERS.values()}
    night.go("/demo/")
    told = night.page.locator(".told tbody tr").filter(has_text="Firing: A new cause: HTTP Error 503")
    expect(told).to_have_count(1)
    expect(told).to_contain_text("mail to payments@teams.example")
    expect(told).to_contain_text("chat to payments")


def who_is_on_call_acknowledges_opens_the_largest_reads_and_takes_it(night: Steps) -> None:
    night.follow("the alert of the payments")
    night.headed("A new cause: HTTP Error 503: Service Unavailable: we are down for maintenance")
    night.press("Acknowledge")
    night.said("You have it: A new cause: HTTP Error 503")
    night.go("/dlq/")
    night.headed(f"{ALL} dead letters, 3 causes")
    expect(night.page.locator("tbody tr")).to_have_count(3)
    largest = night.page.locator("tbody tr").filter(has_text=str(DEATHS["billing.capture_payment"]))
    largest.get_by_role("link", name="HTTP Error 503").click()
    night.headed("HTTP Error 503: Service Unavailable: we are down for maintenance")
    night.page.get_by_role("link", name=re.compile(r"^No\. \d+$")).click()
    night.headed("capture_payment failed in every one of 3 attempts")
    expect(night.page.locator(".tb .jtag").last).to_have_text("our code, raised here")
    expect(night.page.locator("main")).to_contain_text("Safe to repeat because captures by order number")
    expect(night.page.locator("main")).not_to_contain_text("tok_")
    night.go(f"/dlq/groups/{group_of('billing.capture_payment').pk}/")
    night.press("Take it")
    night.said("It is yours, with 180 dead letters.")
    assert group_of("billing.capture_payment").assignee.get_username() == night.who  # type: ignore[union-attr]


def before_the_mending_the_canary_stops_the_replay(night: Steps) -> None:
    night.press("Replay all 180")
    night.headed("Replay 180 dead letters")
    expect(night.page.locator("main")).to_contain_text("This cause is still failing")
    night.press("Start with 5, then 175")
    night.headed("was stopped by its canary: 5 of 180 done", SLOW_MS)
    expect(night.page.locator(".banner-d")).to_contain_text("5 of 5 did not succeed")
    assert DeadLetter.objects.filter(replays__gt=0).count() == 5, "nothing else ran"
    assert len(set(DeadLetter.objects.filter(replays__gt=0).values_list("tenant", flat=True))) == 5


def after_it_the_replay_goes_on_to_the_end(night: Steps) -> None:
    replay = night.page.url.removeprefix(night.base)
    night.go("/demo/")
    night.page.locator("#s-payments").get_by_role("button", name="Mend").click()
    night.said("payments is mended.")
    night.go(replay)
    night.press("Run a new canary")
    night.headed("is over: 175 succeeded, 5 are open again", SLOW_MS)
    expect(night.page.get_by_text("Canary passed", exact=True)).to_be_visible()
    expect(night.page.locator("main")).to_contain_text("The other 170 began by themselves")
    night.press("Preview another replay of them")
    night.headed("Replay 5 dead letters")
    night.press("Replay 5")
    night.headed(re.compile(r"Replay \d+ is (running|over)"))
    payments = DeadLetter.objects.filter(job_type="billing.capture_payment")
    wait_for(lambda: payments.filter(state=State.RESOLVED).count() == 180, seconds=60, what="every payment resolved")
    night.go(f"/dlq/groups/{group_of('billing.capture_payment').pk}/")
    expect(night.page.locator("[data-state]")).to_have_text("Drained")


def the_poison_is_discarded_with_a_reason_and_one_undone(night: Steps) -> None:
    night.go("/demo/")
    night.follow("all of that cause")
    night.press("Discard all 75")
    night.headed("Discard 75 dead letters")
    night.page.get_by_label("Reason").select_option("Will never succeed")
    night.page.get_by_label("Note").fill("the shops ask their customers for the VAT id")
    night.press("Discard 75")
    night.headed("is over: 75 dead letters were discarded", SLOW_MS)
    night.go(f"/dlq/groups/{group_of('billing.report_invoice').pk}/")
    night.follow("The drained ones")
    night.page.locator("tbody tr").first.get_by_role("link", name="HTTP Error 400").click()
    night.headed("report_invoice was discarded")
    expect(night.page.locator("main")).to_contain_text("Will never succeed: the shops ask their customers")
    night.press("Undo the discard")
    night.said("is open again")
    assert DeadLetter.objects.filter(job_type="billing.report_invoice", state=State.OPEN).count() == 1
    night.go(f"/dlq/groups/{group_of('billing.report_invoice').pk}/")
    expect(night.page.locator("main")).to_contain_text("A letter of it is open again")


def the_report_shows_it_all(night: Steps) -> None:
    night.go("/dlq/report/")
    night.headed("All 254 dead letters drained in the last 7 days were on time.")
    rows = night.page.locator("tbody tr")
    expect(rows.filter(has_text="payments")).to_contain_text("180 by a replay, 0 discarded")
    expect(rows.filter(has_text="payments")).to_contain_text("97.3")
    billing = rows.filter(has_text="billing")
    expect(billing).to_contain_text("0 by a replay, 74 discarded")
    expect(billing.locator("td").nth(-3)).to_have_text("1")
    expect(rows.filter(has_text="data-exports").locator("td").nth(-3)).to_have_text("45")


def the_audit_has_each_step(night: Steps) -> None:
    by_whom: dict[str, tuple[str | re.Pattern[str], str]] = {
        "demo.incident": ("let 300 jobs of the demo go wrong", night.who),
        "alert.acknowledge": ("acknowledged alert", night.who),
        "group.take": ("took all dead letters of cause", night.who),
        "bulk.confirm": ("started bulk action", night.who),
        "bulk.pause": ("paused bulk action", "scheduler, by itself"),
        "demo.mend": ("mended the demo’s server payments", night.who),
        "bulk.resume": ("let bulk action", night.who),
        "bulk.finish": ("finished bulk action", night.who),
        "letter.replay": (re.compile(r"replayed \d+ dead letters"), night.who),
        "letter.discard": ("Will never succeed: the shops ask their customers for the VAT id", night.who),
        "letter.undo": ("undid the discard of dead letter", night.who),
    }
    for action, (words, who) in by_whom.items():
        night.go(f"/audit/?what={action}")
        row = night.page.locator("main tbody tr, main ol > li").filter(has_text=words).first
        expect(row).to_contain_text(who)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_night_on_call_from_the_alert_to_the_report(night: Steps, places: Places) -> None:
    """One test, as each step needs the one before it; each is a sentence."""
    it_goes_wrong(night)
    an_alert_names_each_cause_once_to_the_right_team(night, places)
    who_is_on_call_acknowledges_opens_the_largest_reads_and_takes_it(night)
    before_the_mending_the_canary_stops_the_replay(night)
    after_it_the_replay_goes_on_to_the_end(night)
    the_poison_is_discarded_with_a_reason_and_one_undone(night)
    the_report_shows_it_all(night)
    the_audit_has_each_step(night)
    night.go("/demo/")
    expect(night.page.locator(".jsteps li.done")).to_have_count(9)
    assert set(fired_mails(places).values()) == {1}, "each cause was told of once"
