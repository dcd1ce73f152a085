"""The drain report, ``/dlq/report/``."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.clock.period import LONGEST, Period, last, parse
from dlq.models import DeadLetter
from tenants.models import Tenant
from tenants.roles import Role
from tests.dlq.clock.clocks import group
from tests.web.world import World

NOW = datetime.fromisoformat("2026-03-12T12:00:00+00:00")


@pytest.fixture
def acme(world: World) -> Tenant:
    return world.tenant("acme")


def drained(world: World, acme: Tenant, owner: str = "billing", hours: float = 1, **fields: Any) -> DeadLetter:
    now = timezone.now()
    terms = {"dead_at": now - timedelta(hours=hours), "drained_at": now, "drain_s": int(hours * 3600), "sla_s": 14400}
    terms["due_at"] = now + timedelta(hours=4 - hours)
    return world.letter(acme, owner=owner, **({"state": "resolved"} | terms | fields))


def body(world: World, query: str = "") -> str:
    answer = world.client(Role.STAFF_VIEWER).get(f"/dlq/report/{query}")
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_an_empty_one_says_so(world: World) -> None:
    text = body(world)
    assert "<h1>Nothing was drained in the last 7 days, and nothing was late.</h1>" in text
    assert "Nothing to report" in text
    assert "What breached most" not in text


def test_its_title_says_how_much_was_in_time_and_who_has_the_breaches(world: World, acme: Tenant) -> None:
    for _ in range(3):
        drained(world, acme)
    assert "<h1>All 3 dead letters drained in the last 7 days were on time.</h1>" in body(world)
    drained(world, acme, "ops", hours=5)
    text = body(world)
    assert "<h1>75% of dead letters were drained on time in the last 7 days. ops has the most breaches: 1.</h1>" in text
    assert "3 by a replay, 0 discarded" in text
    assert "1 drained late" in text


def test_a_team_narrows_it_and_its_numbers_lead_to_their_letters(world: World, acme: Tenant) -> None:
    drained(world, acme)
    drained(world, acme, "ops", hours=5)
    world.letter(acme, owner="ops", due_at=timezone.now() - timedelta(hours=1), dead_at=timezone.now() - timedelta(9))
    text = body(world, "?team=ops")
    assert "<h1>0% of dead letters of ops were drained on time in the last 7 days.</h1>" in text
    assert 'href="/dlq/?by=one&amp;owner=ops&amp;overdue=1"' in text
    assert "billing" not in text
    assert 'href="/dlq/report/?period=30d&amp;team=ops"' in text
    followed = world.client(Role.STAFF_VIEWER).get("/dlq/?by=one&owner=ops&overdue=1")
    assert followed.status_code == 200


def test_breaches_lead_to_their_causes(world: World, acme: Tenant) -> None:
    cause = group(title="503 from pay.example <b>", job_type="shop.jobs.send")
    drained(world, acme, hours=5, group=cause)
    text = body(world)
    assert f'href="/dlq/groups/{cause.pk}/">503 from pay.example &lt;b&gt;</a>' in text


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "=1+1", "a&b", "ünicode\u202e", "x" * 100])
def test_whatever_a_team_is_called_stays_text(world: World, acme: Tenant, name: str) -> None:
    drained(world, acme, name)
    text = body(world)
    assert "<script>alert" not in text
    assert "\u202e" not in text.split("<tbody>")[1]
    client = world.client(Role.STAFF_VIEWER)
    answer = client.get("/dlq/report/export/")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert answer["Content-Disposition"].startswith('attachment; filename="drain-report-')
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert len(rows) == 1
    assert rows[0]["drained"] == "1"
    assert not rows[0]["team"].startswith("=")


def test_the_file_says_what_the_page_says(world: World, acme: Tenant) -> None:
    drained(world, acme)
    drained(world, acme, "ops", hours=5)
    DeadLetter.objects.filter(owner="ops").update(drained_at=timezone.now() - timedelta(days=20))
    client = world.client(Role.OPERATOR)
    for query, teams in (("", ["billing"]), ("?period=30d", ["billing", "ops", "(all teams)"]), ("?team=ops", ["ops"])):
        lines = b"".join(client.get(f"/dlq/report/export/{query}").streaming_content).decode()
        assert [row["team"] for row in csv.DictReader(io.StringIO(lines))] == teams


def test_what_cannot_be_meant_is_passed_over_and_said(world: World) -> None:
    for query, says in {
        "?period=year": "“Period” was passed over: must be one of 7d, 30d, 90d, custom.",
        "?period=custom&from=2026-02-30&to=2026-03-01": "“From” was passed over: must be a day such as 2026-03-12.",
        "?period=custom&from=2026-02-03": "“To” was passed over: must be a day such as 2026-03-12.",
        "?period=custom&from=2026-02-03&to=2026-02-01": "“To” was passed over: must not be before the first day.",
        "?period=custom&from=2996-02-03&to=2996-02-04": "“From” was passed over: must not be after today.",
        "?period=custom&from=2001-02-03&to=2026-02-04": f"“From” was passed over: may be {LONGEST.days} days before",
        f"?team={'x' * 101}": "“Team” was passed over",
        "?team=a%00b": "“Team” was passed over",
    }.items():
        text = body(world, query)
        assert says in text, query
        assert "in the last 7 days" in text


def test_the_form_sends_empty_fields_which_the_address_leaves_out(world: World) -> None:
    client = world.client(Role.STAFF_VIEWER)
    answer = client.get("/dlq/report/?period=custom&from=&to=2026-01-01&team=ops")
    assert (answer.status_code, answer["Location"]) == (302, "/dlq/report/?period=custom&to=2026-01-01&team=ops")


def test_days_are_those_of_the_zone_and_the_last_one_is_whole() -> None:
    with timezone.override("Europe/Berlin"):
        found, faults = parse({"period": "custom", "from": "2026-03-01", "to": "2026-03-02"}, NOW)
    assert faults == {}
    assert found.since.isoformat() == "2026-03-01T00:00:00+01:00"
    assert found.until.isoformat() == "2026-03-03T00:00:00+01:00"
    assert parse({"period": "custom", "from": "2026-03-01", "to": "2026-03-30"}, NOW)[0].until == NOW
    assert parse(found.as_params(), NOW)[0].as_params() == found.as_params()
    assert last("7d", NOW).as_params() == {}
    assert parse(last("90d", NOW).as_params(), NOW)[0] == Period("90d", NOW - timedelta(days=90), NOW)


def test_the_number_of_queries_does_not_grow(world: World, acme: Tenant) -> None:
    client = world.client(Role.STAFF_VIEWER)
    client.get("/dlq/report/")  # the first one reads who signed in
    counts = []
    for size in (10, 50):
        for number in range(size):
            cause = group(owner=f"team-{number}")
            drained(world, acme, f"team-{number}", hours=5, group=cause)
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/dlq/report/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
