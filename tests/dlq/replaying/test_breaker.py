"""The breaker: it judges the newest ends of the rest, and stops the replay when too many of them failed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dlq.bulk_progress import progress
from dlq.models import BulkAction, ReplayRun
from dlq.replay_control import replay_resume
from dlq.replay_guard import breaker_standing
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.dlq.replaying.many import confirmed, end, plan_of, work
from tests.dlq.replays import FAILED

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def test_it_stops_the_rest_and_says_why(both: Engine, acme: Tenant) -> None:
    letters(acme, 40)
    bulk = work(confirmed(canary=0, in_flight=10, breaker_percent=20.0, breaker_window=10))
    end(both, 7)
    end(both, 2, FAILED)
    assert work(bulk).state == "running", "two of ten may"
    end(both, 1, FAILED)
    work(bulk)
    plan = plan_of(bulk)
    assert (bulk.state, plan.paused_by) == ("paused", "breaker")
    assert plan.paused_why == "3 of the last 10 failed; 2 of 10 may"
    told = progress(bulk).breaker
    assert told is not None
    assert (told.failed, told.ended, told.window, told.limit_percent, told.tripped) == (3, 10, 10, 20.0, True)
    done = bulk.done
    end(both, 9)
    assert work(bulk).done == done, "what succeeds later does not set it going"


@pytest.mark.parametrize("ahead", [timedelta(0), timedelta(minutes=3), timedelta(minutes=-3)])
def test_what_ended_before_somebody_let_it_go_on_counts_no_more(both: Engine, acme: Tenant, ahead: timedelta) -> None:
    """Redis tells when a job ended, and its clock may be ahead or behind."""
    letters(acme, 60)
    bulk = work(confirmed(canary=0, in_flight=10))
    for sent in (20, 30):
        running = list(ReplayRun.objects.filter(bulk=bulk, state="running").values_list("pk", flat=True))
        end(both, 10, FAILED)
        ReplayRun.objects.filter(pk__in=running).update(ended_at=timezone.now() + ahead)
        assert work(bulk).state == "paused"
        replay_resume(bulk_id=bulk.pk, by="command:bob")
        assert (work(bulk).state, bulk.done) == ("running", sent)


def test_the_canary_is_not_judged_twice(both: Engine, acme: Tenant) -> None:
    letters(acme, 40)
    bulk = work(confirmed(canary=10, canary_failures=3, in_flight=10))
    end(both, 3, FAILED)
    end(both, 7)
    assert (work(bulk).state, plan_of(bulk).phase) == ("running", "rest")


def ended(bulk: BulkAction, states: list[str]) -> None:
    """Runs of it that ended in this order, a second apart."""
    began = timezone.now()
    for number, state in enumerate(states):
        (letter,) = letters(Tenant.objects.get(slug="acme"), 1)
        at = began + timedelta(seconds=number)
        ReplayRun.objects.create(
            letter=letter, number=1, job_id=f"job-{bulk.pk}-{number}", bulk=bulk, by="x", state=state, ended_at=at
        )


@pytest.mark.parametrize(
    ("states", "options", "tripped"),
    [
        (["died"] * 5 + ["succeeded"] * 95, {}, False),
        (["died"] * 6 + ["succeeded"] * 94, {}, True),
        (["died"] * 6 + ["succeeded"] * 99, {}, False),  # the first ones have left the window
        (["succeeded"] * 94 + ["lost", "refused", "cancelled", "died", "died", "died"], {}, True),
        (["succeeded"] * 10 + ["coalesced"] * 50, {}, False),
        (["died"] * 5, {}, False),
        (["died"] * 6, {}, True),  # it need not wait for a hundred
        (["succeeded"] * 9 + ["died"], {}, False),
        (["died"] * 10, {"breaker_percent": 100.0}, False),
        (["succeeded"] * 9 + ["died"], {"breaker_percent": 0.0}, True),
        (["died"] * 10 + ["succeeded"] * 10, {"breaker_window": 10}, False),
    ],
)
def test_when_it_trips(acme: Tenant, states: list[str], options: dict[str, Any], tripped: bool) -> None:
    letters(acme, 1)
    bulk = confirmed(canary=0, **options)
    ended(bulk, states)
    assert breaker_standing(bulk, plan_of(bulk)).tripped is tripped
