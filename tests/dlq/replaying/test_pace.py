"""How fast a replay goes: one rate however many work on it, no more at once than allowed, and not before its time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.models import BulkAction, ReplayPlan, ReplayRun
from dlq.replay_control import replay_set_speed
from dlq.replay_pace import allowance, holds_back
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.dlq.replaying.many import confirmed, end, plan_of, work
from tests.runtime.together import at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def sent_over(seconds: list[float], **fields: Any) -> list[int]:
    """How many may be sent at each of these instants, if all that may be always are."""
    plan, bulk, began = ReplayPlan(**fields), BulkAction(matched=7200), timezone.now()
    found = []
    for second in seconds:
        may = allowance(bulk, plan, began + timedelta(seconds=second))
        assert may is not None
        plan.credit -= may
        found.append(may)
    return found


@pytest.mark.parametrize(
    ("fields", "seconds", "may"),
    [
        ({"rate": 20.0}, [0, 0, 0.5, 0.6, 1.1], [20, 0, 10, 2, 10]),
        ({"rate": 20.0}, [0, 3600], [20, 20]),  # a scheduler that slept does not make up for it
        ({"rate": 20.0}, [0, -3600, -3599], [20, 0, 20]),  # a clock that was set back
        ({"rate": 0.5}, [0, 1, 2, 3, 4], [1, 0, 1, 0, 1]),
        ({"rate": None, "spread_s": 3600}, [0, 1, 2], [2, 2, 2]),
        ({"rate": 50.0, "spread_s": 3600}, [0, 1], [2, 2]),
    ],
)
def test_a_rate_is_kept_at_any_time(fields: dict[str, Any], seconds: list[float], may: list[int]) -> None:
    assert sent_over(seconds, **fields) == may


def test_no_rate_is_no_limit() -> None:
    assert allowance(BulkAction(matched=3), ReplayPlan(rate=None), timezone.now()) is None


def test_several_processes_share_one_rate(acme: Tenant) -> None:
    letters(acme, 60)
    bulk = confirmed(canary=0, rate=10.0)
    began = timezone.now()
    at_once(lambda: [work(BulkAction.objects.get(pk=bulk.pk)) for _ in range(5)], 3)
    took = (timezone.now() - began).total_seconds()
    assert 10 <= ReplayRun.objects.count() <= 10 + 10 * took
    assert holds_back(work(bulk), plan_of(bulk)) == "rate"


def test_no_more_run_at_once_than_allowed(both: Engine, acme: Tenant) -> None:
    letters(acme, 10)
    bulk = confirmed(canary=0, in_flight=3)
    assert work(bulk).done == 3
    assert holds_back(bulk, plan_of(bulk)) == "in_flight"
    end(both, 2)
    assert work(bulk).done == 5
    assert ReplayRun.objects.filter(state="running").count() == 3
    replay_set_speed(bulk_id=bulk.pk, by="command:bob", rate=None, in_flight=None)
    assert (work(bulk).state, bulk.done) == ("finished", 10)


def test_nothing_is_sent_before_its_time(acme: Tenant) -> None:
    letters(acme, 3)
    start_at: datetime = timezone.now() + timedelta(hours=1)
    bulk = confirmed(start_at=start_at)
    assert (work(bulk).done, bulk.state) == (0, "running")
    assert holds_back(bulk, plan_of(bulk)) == "start"
    ReplayPlan.objects.update(start_at=timezone.now())
    assert (work(bulk).done, bulk.state) == (3, "finished")


def test_skipped_members_cost_nothing_of_the_rate(acme: Tenant) -> None:
    letters(acme, 30, state="resolved")
    letters(acme, 3)
    from dlq.bulk import bulk_confirm, bulk_draft
    from dlq.models import DeadLetter
    from dlq.replay_plan import PlanOptions

    draft = bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="")
    bulk = bulk_confirm(bulk_id=draft.pk, by="command:ada", plan=PlanOptions(rate=4.0, canary=0))
    assert (work(bulk).done, bulk.skipped, bulk.state) == (3, 30, "finished")
