"""``manage.py replays`` and the options of ``dlq replay``: exit codes, one line for a fault, the keys of the JSON."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, DeadLetter, ReplayPlan
from jobops.engine.client import Engine
from jobops.management.base import Refused, Stopped, Usage
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.dlq.replaying.many import fail, succeed, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def said(*args: str) -> str:
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def ask(*args: str) -> Any:
    return json.loads(said(*args, "--json"))


def test_by_default_the_canary_goes_first_and_the_command_says_how_it_goes_on(both: Engine, acme: Tenant) -> None:
    letters(acme, 9)
    report = ask("dlq", "replay", "--all")
    assert (report["matched"], report["done"], report["state"]) == (9, 5, "running")
    assert ReplayPlan.objects.get().rate == 20
    bulk = BulkAction.objects.get()
    assert ask("replays", "show", str(bulk.pk))["canary"] == 5
    succeed(both)
    assert work(bulk).plan.phase == ReplayPlan.Phase.REST
    letters(acme, 9)
    assert "goes on by itself when its canary has succeeded" in said("dlq", "replay", "--all")


def test_the_plan_is_as_was_asked(acme: Tenant) -> None:
    letters(acme, 9)
    asked = ["--rate", "50/m", "--in-flight", "7", "--lane", "as-died", "--canary", "2", "--breaker", "10"]
    ask("dlq", "replay", "--all", *asked, "--breaker-of", "50", "--any-order", "--canary-failures", "1")
    plan = ReplayPlan.objects.get()
    assert plan.rate == pytest.approx(50 / 60)
    assert (plan.in_flight, plan.lane, plan.canary, plan.canary_failures) == (7, "", 2, 1)
    assert (plan.breaker_percent, plan.breaker_window, plan.in_order) == (10.0, 50, False)


def test_without_canary_and_limit_all_are_sent_at_once(acme: Tenant) -> None:
    letters(acme, 30)
    report = ask("dlq", "replay", "--all", "--no-canary", "--rate", "none")
    assert (report["done"], report["state"]) == (30, "finished")


def test_the_list_says_where_they_stand_as_their_pages_do(both: Engine, acme: Tenant) -> None:
    letters(acme, 30)
    ask("dlq", "replay", "--all", "--no-canary", "--rate", "none")
    (row,) = ask("replays", "list")
    assert (row["state"], row["standing"], row["running"]) == ("finished", "sent", 30)
    fail(both)
    assert ask("replays", "list")[0]["standing"] == "over"
    ask("dlq", "replay", "--all", "--start-at", (timezone.now() + timedelta(hours=1)).isoformat())
    assert ask("replays", "list")[0]["standing"] == "scheduled"
    ask("replays", "cancel", str(ask("replays", "list")[0]["id"]))
    ask("dlq", "replay", "--all")
    fail(both)
    work(BulkAction.objects.latest("pk"))
    row = ask("replays", "list")[0]
    assert (row["standing"], row["stopped_by"]) == ("canary stopped", "canary")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--rate", "fast"], "--rate: 'fast' is no rate"),
        (["--lane", "nowhere"], "--lane: there is no such lane"),
        (["--canary", "-3"], "--canary: must be a whole number, 0 to 1,000,000; not '-3'"),
        (["--start-at", "2020-01-01T00:00"], "--start-at: '2020-01-01T00:00' is past"),
        (["--rate", "5/s", "--spread", "1h"], "give either --rate or --spread"),
    ],
)
def test_a_wrong_option_is_one_line_and_touches_nothing(acme: Tenant, options: list[str], line: str) -> None:
    letters(acme, 9)
    with pytest.raises(Usage) as error:
        said("dlq", "replay", "--all", *options)
    assert line in str(error.value)
    assert not BulkAction.objects.exists()


def test_one_that_waits_to_its_end_tells_what_stopped_it(
    both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jobops.management import dlq_bulk

    letters(acme, 9)
    monkeypatch.setattr(dlq_bulk.time, "sleep", lambda seconds: fail(both))
    with pytest.raises(Stopped, match="was stopped by canary: 5 of 5 that ran first failed"):
        said("dlq", "replay", "--all", "--wait")


def test_pause_resume_speed_and_cancel(both: Engine, acme: Tenant) -> None:
    letters(acme, 9)
    ask("dlq", "replay", "--all")
    number = str(BulkAction.objects.get().pk)
    assert "is paused" in said("replays", "pause", number, "--reason", "asked to")
    shown = ask("replays", "show", number)
    assert (shown["state"], shown["why"], shown["waiting"], shown["running"]) == ("paused", "asked to", 4, 5)
    assert shown["stopped_by"].startswith("command:")
    assert shown["standing"] == "paused"
    assert "paused" in said("replays", "list")
    said("replays", "speed", number, "--rate", "5/s")
    said("replays", "speed", number, "--in-flight", "3")
    plan = ReplayPlan.objects.get()
    assert (plan.rate, plan.in_flight) == (5.0, 3)
    assert ask("replays", "resume", number)["state"] == "running"
    with pytest.raises(Refused, match="it is running already"):
        said("replays", "resume", number)
    with pytest.raises(Usage, match="--rate"):
        said("replays", "speed", number, "--rate", "0")
    with pytest.raises(Usage, match="say --rate"):
        said("replays", "speed", number)
    said("replays", "cancel", number)
    assert [row["state"] for row in ask("replays", "list")] == ["cancelled"]
    assert DeadLetter.objects.filter(state="open").count() == 4
    with pytest.raises(Refused, match="there is none of this number"):
        said("replays", "show", "999")


def test_a_list_asks_as_much_for_many_as_for_one(acme: Tenant) -> None:
    counts = []
    for _ in range(3):
        letters(acme, 2)
        ask("dlq", "replay", "--all")
        with CaptureQueriesContext(connection) as seen:
            rows = ask("replays", "list")
        counts.append(len(seen))
    assert len(rows) == 3
    assert counts[0] == counts[2]
    assert ask("replays", "list", "--state", "paused") == []
