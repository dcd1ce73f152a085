"""A replay is beneath its own tenant's urgent work, and no other tenant waits for it."""

from __future__ import annotations

import time

import pytest

from dlq.bulk import bulk_confirm, bulk_draft
from dlq.models import DeadLetter
from dlq.replay_plan import PlanOptions
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.dlq.replaying.many import confirmed, work
from tests.runtime import factory
from tests.runtime.factory import claim, new_job, run_all, settle

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def claimed(engine: Engine, count: int) -> list[str]:
    """The tenants and lanes of the next jobs that one slot runs."""
    found = []
    for _ in range(count):
        job = claim(engine)
        assert job is not None
        time.sleep(0.005)  # what it runs for: worker time is what is shared
        settle(engine, job, Outcome.succeeded())
        found.append(job.queue)
    return found


def test_by_default_it_runs_in_the_lowest_lane(both: Engine, acme: Tenant) -> None:
    letters(acme, 3, lane="interactive")
    draft = bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="")
    work(bulk_confirm(bulk_id=draft.pk, by="command:ada"))
    assert len(factory.waiting(both, "acme.bulk")) == 3


def test_where_each_died_if_that_is_asked(both: Engine, acme: Tenant) -> None:
    letters(acme, 2, lane="interactive"), letters(acme, 1, lane="bulk")
    work(confirmed(lane=""))
    assert [len(factory.waiting(both, queue)) for queue in ("acme.interactive", "acme.bulk")] == [2, 1]


def test_urgent_work_of_the_tenant_itself_goes_above_it(both: Engine, acme: Tenant) -> None:
    letters(acme, 200)
    assert work(confirmed(canary=0)).done == 200
    both.scripts.enqueue_many([new_job(lane="interactive") for _ in range(60)])
    first = claimed(both, 40)
    assert first.count("acme.interactive") >= 20, "four fifths by the lanes' weights, give or take"


def test_no_other_tenant_waits_for_it(both: Engine, acme: Tenant) -> None:
    """B has ten jobs in the same lane: they run in turn with the two hundred, not after them."""
    factory.tenant("b")
    letters(acme, 200)
    assert work(confirmed(canary=0)).done == 200
    both.scripts.enqueue_many([new_job("b", lane="bulk") for _ in range(10)])
    first = claimed(both, 26)
    assert first.count("b.bulk") >= 8, first
    assert len(run_all(both)) == 200 + 10 - 26


def test_replays_obey_the_cap_of_their_tenant(both: Engine, acme: Tenant) -> None:
    """DL-21"""
    from tenants import services

    services.tenant_set(tenant=acme, by="tests", cap=1)
    letters(acme, 2)
    work(confirmed())
    running = claim(both)
    assert running is not None
    assert claim(both) is None, "the second one waits"
    settle(both, running, Outcome.succeeded())
    assert claim(both) is not None


def test_its_defaults_are_safe() -> None:
    assert PlanOptions() == PlanOptions(
        rate=20.0, in_flight=None, lane=None, canary=5, canary_failures=0, breaker_window=100, breaker_percent=5.0
    )
    assert PlanOptions().lane_name == "bulk"
