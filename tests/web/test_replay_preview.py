"""The preview of a replay: its options, what they come to, its one cause, and who may choose what."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq.models import BulkAction, DeadLetter, DeadLetterGroup, ReplayPlan
from tenants.models import Tenant
from tenants.roles import Role
from tests.web.bulks import AT_ONCE, confirm, draft, replayable, said
from tests.web.world import World

OPTIONS = {
    "options": "1", "canary": "2", "canary_failures": "1", "rate": "7", "in_flight": "24", "lane": "interactive",
    "spread_s": "", "start_at": "", "breaker_percent": "10", "breaker_window": "50", "in_order": "1",
}  # fmt: skip


@pytest.fixture
def on_call(world: World, acme: Tenant) -> Client:
    return world.client(Role.ON_CALL)


def page(client: Client, bulk: BulkAction, **options: str) -> str:
    answer = client.get(f"/dlq/replays/{bulk.pk}/", options)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\u00a0", " ")


def plan(client: Client, bulk: BulkAction, **options: str) -> str:
    answer = client.get(f"/dlq/bulk/{bulk.pk}/plan/", options)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode()).replace("\u00a0", " ")


def many(client: Client, world: World, tenant: Tenant, count: int = 12, **fields: Any) -> BulkAction:
    return draft(client, "replay", [replayable(world, tenant, **fields).pk for _ in range(count)])


def cause(**fields: Any) -> DeadLetterGroup:
    values = {"fingerprint": "a" * 64, "title": "Payment provider answered 503"}
    return DeadLetterGroup.objects.create(**(values | fields))


def test_it_is_safe_for_whoever_touches_nothing(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    text = page(on_call, bulk)
    assert "safe defaults" in text
    for name, value in (("canary", "5"), ("canary_failures", "0"), ("rate", "20"), ("breaker_percent", "5")):
        assert re.search(rf'name="{name}" value="{value}"', text), name
    assert re.search(r'<option value="bulk" selected>', text)
    assert "</svg>Start with 5, then 7</button>" in text
    confirm(on_call, bulk)
    stored = ReplayPlan.objects.get(pk=bulk.pk)
    assert (stored.canary, stored.rate, stored.lane, stored.in_order) == (5, 20, "bulk", True)
    assert bulk.members.filter(canary=True).count() == 5


def test_what_was_chosen_is_what_runs(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    confirm(on_call, bulk, **OPTIONS, note="mended")
    stored = ReplayPlan.objects.get(pk=bulk.pk)
    assert (stored.canary, stored.canary_failures, stored.rate, stored.in_flight) == (2, 1, 7, 24)
    assert (stored.lane, stored.breaker_percent, stored.breaker_window) == ("interactive", 10, 50)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.reason) == ("running", "mended")


def test_the_sentences_follow_the_options_without_counting_anew(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    text = plan(on_call, bulk, **OPTIONS | {"n": "12"})
    assert "2 run first." in text
    assert "If more than 1 die again" in text
    assert "the other 10 follow by themselves</b> at 7 per second" in text
    assert "</svg>Start with 2, then 10</button>" in text
    assert "<html" not in text
    with CaptureQueriesContext(connection) as queries:
        plan(on_call, bulk, **OPTIONS | {"n": "12"})
    assert not any("dead_letter" in query["sql"] and "GROUP BY" in query["sql"] for query in queries)
    assert "All" not in plan(on_call, bulk, **OPTIONS | {"n": "9" * 30})


@pytest.mark.parametrize(
    ("wrong", "label", "right"),
    [
        ({"rate": "fast"}, "Speed", "no rate"),
        ({"canary": "-1"}, "Canary", "whole number"),
        ({"canary_failures": "2"}, "Canary, failures", "fewer than the canary"),
        ({"lane": "express"}, "Lane", "there are interactive, bulk"),
        ({"spread_s": "never"}, "Spread over", "never"),
        ({"start_at": "2001-01-01T00:00"}, "Start at", "past"),
        ({"breaker_percent": "101"}, "Breaker", "0 to 100"),
        ({"rate": "<script>alert(1)</script>"}, "Speed", "no rate"),
    ],
)
def test_what_is_not_right_is_named_and_starts_nothing(
    world: World, acme: Tenant, on_call: Client, wrong: dict[str, str], label: str, right: str
) -> None:
    bulk = many(on_call, world, acme)
    answer = on_call.get(f"/dlq/bulk/{bulk.pk}/plan/", OPTIONS | wrong | {"n": "12"})
    assert "<script>" not in answer.content.decode()
    text = html.unescape(answer.content.decode())
    assert re.search(rf"<b>{label}</b>: .*{right}", text)
    assert 'type="submit"' not in text
    where = confirm(on_call, bulk, **OPTIONS | wrong)["Location"]
    assert where.startswith(f"/dlq/replays/{bulk.pk}/?next=")
    bulk.refresh_from_db()
    assert bulk.state == "draft"
    shown = on_call.get(where).content.decode()
    assert "Nothing was changed: put the options right first." in shown
    assert html.unescape(shown).count(f"{label}</b>: ") == 1
    assert re.search(rf'name="{next(iter(wrong))}"[^>]*aria-invalid="true"', shown)
    assert "<script>alert" not in shown


def test_what_waits_before_it_is_told_by_lane(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    assert "come first" not in page(on_call, bulk)
    for lane, count in (("bulk", 3), ("interactive", 2)):
        world.engine.redis.rpush(f"rq:queue:{acme.slug}.{lane}", *range(count))
    assert "Jobs of this tenant that wait now come first: 2 in interactive and 3 in bulk." in page(on_call, bulk)


def test_without_a_script_a_button_shows_what_would_happen(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    assert "<noscript>" in page(on_call, bulk)
    where = confirm(on_call, bulk, **OPTIONS | {"rate": "", "in_order": ""}, show="1")["Location"]
    bulk.refresh_from_db()
    assert bulk.state == "draft"
    text = html.unescape(on_call.get(where).content.decode())
    assert "as you chose" in text
    assert "the other 10 follow by themselves</b> as fast as they go" in text
    assert re.search(r'name="next" value="/dlq/\?owner=billing"', text)


def test_a_span_takes_the_place_of_the_speed_and_a_start_waits(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    later = timezone.now() + timedelta(hours=5)
    confirm(on_call, bulk, **OPTIONS | {"spread_s": "2h", "start_at": f"{timezone.localtime(later):%Y-%m-%dT%H:%M}"})
    stored = ReplayPlan.objects.get(pk=bulk.pk)
    assert (stored.rate, stored.spread_s) == (None, 7_200)
    assert stored.start_at is not None
    assert abs(stored.start_at - later) <= timedelta(minutes=1)
    text = page(on_call, bulk)
    assert f"Replay {bulk.pk} starts at " in text
    assert "12 wait for it" in text
    assert "Nothing has run yet." in text
    assert DeadLetter.objects.filter(state="replaying").count() == 0


def test_a_tenants_people_choose_nothing_of_the_machine(world: World, acme: Tenant) -> None:
    admin = world.client(Role.TENANT_ADMIN, acme)
    bulk = many(admin, world, acme)
    text = page(admin, bulk)
    for hidden in ('name="rate"', 'name="lane"', 'name="canary"', "per second", "bulk,"):
        assert hidden not in text[text.index("<main") :], hidden
    assert "5 run first." in text
    assert "Start with 5, then 7" in text
    confirm(admin, bulk, **AT_ONCE | {"lane": "interactive"})
    stored = ReplayPlan.objects.get(pk=bulk.pk)
    assert (stored.canary, stored.rate, stored.lane) == (5, 20, "bulk")


def test_of_one_cause_it_is_told_and_that_it_still_fails(world: World, acme: Tenant, on_call: Client) -> None:
    group = cause(title="<script>alert(1)</script> 503")
    old = timezone.now() - timedelta(hours=2)
    bulk = many(on_call, world, acme, group=group, dead_at=old)
    assert "still failing" not in page(on_call, bulk)
    for _ in range(3):
        replayable(world, acme, group=group, dead_at=timezone.now() - timedelta(seconds=12))
    replayable(world, acme, dead_at=timezone.now())
    answer = on_call.get(f"/dlq/replays/{bulk.pk}/").content.decode()
    assert "<script>alert(1)" not in answer
    assert f'href="/dlq/groups/{group.pk}/"' in answer
    text = html.unescape(answer).replace("\u00a0", " ")
    assert "This cause is still failing: 3 died of it in the last 5 minutes, the latest 1" in text
    assert "The canary will probably stop this replay. That is safe: at most 5 jobs run" in text


def test_who_replays_some_of_it_already_is_told(world: World, acme: Tenant, on_call: Client) -> None:
    letters = [replayable(world, acme) for _ in range(3)]
    first = draft(on_call, "replay", [letter.pk for letter in letters[:2]])
    confirm(on_call, first)
    text = page(on_call, draft(on_call, "replay", [letter.pk for letter in letters]))
    assert "already being replayed" in text
    assert re.search(rf"by replay {first.pk}, started by \S", text)
    assert "Nothing was changed" not in said(on_call)


def test_what_others_do_is_hidden_from_a_tenants_people(world: World, acme: Tenant) -> None:
    letters = [replayable(world, acme) for _ in range(2)]
    first = draft(world.client(Role.ON_CALL), "replay", [letters[0].pk])
    confirm(world.client(Role.ON_CALL), first)
    admin = world.client(Role.TENANT_ADMIN, acme)
    text = page(admin, draft(admin, "replay", [letter.pk for letter in letters]))
    assert "already being tried again" in text
    assert f"replay {first.pk}" not in text
    assert "on call" not in text[text.index("<main") :]


def test_only_of_a_draft_there_is_something_to_plan(world: World, acme: Tenant, on_call: Client) -> None:
    bulk = many(on_call, world, acme)
    confirm(on_call, bulk)
    assert on_call.get(f"/dlq/bulk/{bulk.pk}/plan/").status_code == 404
    discard = draft(on_call, "discard", [replayable(world, acme).pk])
    assert on_call.get(f"/dlq/bulk/{discard.pk}/plan/").status_code == 404
    assert 'name="canary"' not in html.unescape(on_call.get(f"/dlq/discards/{discard.pk}/").content.decode())
