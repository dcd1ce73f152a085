"""How a replay is to run, read from a form: what is given, what is safe without, and what is right for a fault."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.errors import InvalidAction
from dlq.models import BulkAction, DeadLetter, ReplayPlan
from dlq.replay_plan import DEFAULTS, PlanOptions, parse_options
from jobops.audit.models import AuditEntry
from tests.dlq.letters import letters
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"rate": "50/m"}, "rate", 50 / 60),
        ({"rate": "2.5"}, "rate", 2.5),
        ({"rate": ""}, "rate", None),
        ({"rate": "none"}, "rate", None),
        ({"in_flight": " 24 "}, "in_flight", 24),
        ({"in_flight": ""}, "in_flight", None),
        ({"lane": ""}, "lane", ""),
        ({"lane": "interactive"}, "lane", "interactive"),
        ({"spread_s": "1h30m"}, "spread_s", 5400),
        ({"spread_s": "60"}, "spread_s", 60),
        ({"canary": "0"}, "canary", 0),
        ({"breaker_percent": "7.5%"}, "breaker_percent", 7.5),
        ({"in_order": "no"}, "in_order", False),
    ],
)
def test_what_is_given_counts(given: dict[str, str], name: str, value: Any) -> None:
    options, faults = parse_options(given)
    assert (faults, getattr(options, name)) == ({}, value)


@pytest.mark.parametrize(
    ("given", "name", "right"),
    [
        ({"rate": "fast"}, "rate", '"50/s"'),
        ({"rate": "0"}, "rate", "0.001 to 100,000"),
        ({"rate": "nan"}, "rate", "0.001"),
        ({"rate": "inf"}, "rate", "100,000"),
        ({"rate": "-1"}, "rate", "0.001"),
        ({"in_flight": "0"}, "in_flight", "1 to 1,000,000"),
        ({"in_flight": "x"}, "in_flight", "must be a whole number, 1 to 1,000,000; not 'x'"),
        ({"in_flight": "x"}, "in_flight", "whole number"),
        ({"lane": "nowhere"}, "lane", "interactive, bulk"),
        ({"spread_s": "soon"}, "spread_s", "1h30m"),
        ({"spread_s": "8d"}, "spread_s", "7 days"),
        ({"start_at": "2020-01-01T10:00"}, "start_at", "past"),
        ({"start_at": "tomorrow"}, "start_at", "2026-12-24T18:00"),
        ({"start_at": "2026-13-45T10:00"}, "start_at", "no time"),
        ({"start_at": "9999-12-31T23:59:59-23:59"}, "start_at", "no time"),
        ({"canary": "-1"}, "canary", "whole number"),
        ({"canary": "3", "canary_failures": "3"}, "canary_failures", "fewer than the canary's 3"),
        ({"breaker_percent": "101"}, "breaker_percent", "0 to 100"),
        ({"breaker_percent": "nan"}, "breaker_percent", "0 to 100"),
        ({"breaker_window": "5"}, "breaker_window", "10 to 10,000"),
        ({"in_order": "perhaps"}, "in_order", "yes or no"),
    ],
)
def test_what_is_wrong_is_as_by_default_and_told(given: dict[str, str], name: str, right: str) -> None:
    options, faults = parse_options(given)
    assert list(faults) == [name]
    assert right in faults[name]
    assert getattr(options, name) == getattr(DEFAULTS, name)


def test_nothing_given_is_safe() -> None:
    assert parse_options({}) == (DEFAULTS, {})


def test_times_of_the_day_are_those_of_here() -> None:
    later = timezone.localtime() + timedelta(hours=3)
    options, faults = parse_options({"start_at": later.strftime("%Y-%m-%dT%H:%M")})
    assert (faults, options.start_at) == ({}, later.replace(second=0, microsecond=0))


def draft(**more: Any) -> BulkAction:
    return bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="", **more)


def test_a_draft_has_a_plan_and_the_confirmation_may_bring_another() -> None:
    letters(new_tenant("acme"), 9)
    bulk = draft()
    plan = ReplayPlan.objects.get(bulk=bulk)
    assert (plan.rate, plan.canary, plan.lane, plan.phase) == (20.0, 5, "bulk", "canary")
    assert plan.newest_letter == DeadLetter.objects.latest("pk").pk
    assert not bulk.members.filter(canary=True).exists(), "chosen when it is confirmed"
    bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=PlanOptions(rate=None, spread_s=60, canary=2))
    plan.refresh_from_db()
    assert (plan.rate, plan.spread_s, plan.canary, plan.newest_letter > 0) == (None, 60, 2, True)
    assert bulk.members.filter(canary=True).count() == 2
    row = AuditEntry.objects.get(action="bulk.confirm")
    assert (row.after["canary"], row.after["spread_s"], row.after["lane"]) == (2, 60, "bulk")


def test_a_plan_that_is_none_changes_nothing() -> None:
    letters(new_tenant("acme"), 9)
    bulk = draft()
    with pytest.raises(InvalidAction, match="rate"):
        bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=PlanOptions(rate=-1.0))
    bulk.refresh_from_db()
    assert bulk.state == "draft"
    with pytest.raises(InvalidAction, match="only a replay"):
        bulk_draft(kind="discard", letters=DeadLetter.objects.all(), by="x", chosen="", reason="r", plan=DEFAULTS)
