"""The overview says what is firing, and what nothing stands for as it always did."""

from __future__ import annotations

from django.utils import timezone

from jobops.alerts.acting import alert_acknowledge
from tenants.roles import Role
from tests.web.alert_things import alert_of, silence_of
from tests.web.test_alerts import body, title
from tests.web.world import World


def panel(text: str) -> str:
    return text[text.index('id="firing"') :].partition("</section>")[0] if 'id="firing"' in text else ""


def test_what_is_firing_is_the_title_and_the_first_panel(world: World) -> None:
    client = world.client(Role.ON_CALL)
    world.tenant("acme")
    world.worker()
    breach = {"signal": "sla_breach", "severity": "critical", "scope": {"group": 5}, "owner": "data-exports"}
    first = alert_of("b", **breach, title="212 dead letters are past their deadline", path="/dlq/groups/5/")
    known = alert_of("acme")
    alert_acknowledge(alert_id=known.pk, by="olga")
    alert_of("quiet-one")
    silence_of()
    text = body(client, "/")
    assert title(text) == "212 dead letters are past their deadline. One more is acknowledged."
    shown = panel(text)
    assert shown.index("Breached") < shown.index("Normal")
    assert "olga has it" in shown
    assert "quiet-one" not in shown
    assert shown.count('class="fire-r crit"') == 1
    assert shown.count("Acknowledge") == 1
    assert f'action="/alerts/{first.pk}/acknowledge/"' in shown
    answer = client.post(f"/alerts/{first.pk}/acknowledge/", {"next": "/dlq/groups/5/"})
    assert answer["Location"] == "/dlq/groups/5/"


def test_more_than_fit_are_counted(world: World) -> None:
    for number in range(9):
        alert_of(f"t-{number}")
    shown = panel(body(world.client(Role.ON_CALL), "/"))
    assert shown.count("<li") == 6
    assert "3 more alerts" in shown


def test_without_an_alert_it_says_what_it_always_said(world: World) -> None:
    text = body(world.client(Role.OPERATOR), "/")
    assert title(text) == "All is calm, and nothing is waiting."
    assert panel(text) == ""


def test_a_world_without_workers_is_said_whatever_else_fires(world: World) -> None:
    world.tenant("acme")
    world.enqueue("acme")
    alert_of("acme")
    assert title(body(world.client(Role.ON_CALL), "/")) == "No worker is running, and 1 job waits."


def test_who_may_not_take_it_opens_it(world: World) -> None:
    alert_of("acme")
    shown = panel(body(world.client(Role.STAFF_VIEWER), "/"))
    assert "Acknowledge" not in shown
    assert 'href="/tenants/acme/"' in shown


def test_what_is_over_is_not_firing(world: World) -> None:
    alert_of("acme", state="resolved", resolved_at=timezone.now())
    assert panel(body(world.client(Role.ON_CALL), "/")) == ""
