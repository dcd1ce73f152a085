"""What retention announces: by day and team, days as people count them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from dlq.models import State
from dlq.retention import announcement
from tenants.models import Tenant
from tests.dlq.letters import letter
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 16, 12, 0, tzinfo=UTC)


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def drained(acme: Tenant, owner: str, days: int, hour: int = 12, state: State = State.DISCARDED) -> None:
    at = NOW.replace(hour=hour) - timedelta(days=days)
    letter(acme, owner=owner, state=state, drained_at=at)


def test_by_day_and_team_who_loses_most_first(acme: Tenant) -> None:
    for days in (30, 30, 28):
        drained(acme, "payments", days)
    drained(acme, "billing", 24, state=State.RESOLVED)
    # Gone already or to go any moment; and later than that week.
    drained(acme, "payments", 31)
    drained(acme, "payments", 23)
    letter(acme, owner="payments", dead_at=NOW - timedelta(days=90), drained_at=NOW - timedelta(days=30))
    found = announcement(NOW)
    assert [(team.owner, list(team.days), team.total) for team in found.teams] == [
        ("payments", [2, 0, 1, 0, 0, 0, 0], 3),
        ("billing", [0, 0, 0, 0, 0, 0, 1], 1),
    ]
    assert (found.sums, found.total) == ([2, 0, 1, 0, 0, 0, 1], 4)
    assert (found.days[0], found.days[-1]) == (date(2026, 3, 16), date(2026, 3, 22))
    assert (found.drained[0], found.drained[-1]) == (date(2026, 2, 14), date(2026, 2, 20))


def test_a_day_begins_where_whoever_asks_is(acme: Tenant) -> None:
    drained(acme, "payments", 29, hour=23)
    assert list(announcement(NOW).teams[0].days) == [0, 1, 0, 0, 0, 0, 0]
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert list(announcement(NOW).teams[0].days) == [0, 0, 1, 0, 0, 0, 0]


def test_nothing_is_nothing(acme: Tenant, settings: Any, django_assert_num_queries: Any) -> None:
    settings.JOBOPS_RETENTION_DAYS = 36_500
    with django_assert_num_queries(1):
        found = announcement()
    assert (found.teams, found.total, found.sums) == ([], 0, [])
