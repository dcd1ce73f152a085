"""A replay's job on its way: what it is a replay of travels with it, and it is found wherever it is or was."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.utils import timezone

from dlq.models import DeadLetter, ReplayRun
from dlq.ports import key_holders
from jobops.context.models import OutboxEntry
from jobops.context.outbox import job_of
from jobops.engine.client import Engine
from jobops.engine.errors import InvalidJob
from jobops.engine.jobs import read_job
from jobops.engine.records import JobView
from jobops.runtime import enqueuer, lookup
from jobops.scheduling.duties import Context
from jobops.steward import relay as relay_duty
from tenants.models import Tenant
from tests.runtime.conftest import Outage
from tests.runtime.factory import new_job, run_all

pytestmark = pytest.mark.django_db(transaction=True)


def found(job_id: str) -> JobView:
    view = lookup(job_id)
    assert view is not None
    return view


def test_what_it_is_a_replay_of_travels_through_the_outbox(both: Engine) -> None:
    job = new_job(replay_of="lost:3")
    with transaction.atomic():
        enqueuer().enqueue_many([job, new_job()])
        assert OutboxEntry.objects.get(pk=job.id).replay_of == "lost:3"
        named = job._replace(tenant_uid=str(Tenant.objects.get().pk))
        assert job_of(OutboxEntry.objects.get(pk=job.id)) == named
        assert (found(job.id).state, found(job.id).replay_of) == ("outbox", "lost:3")
    assert (found(job.id).state, found(job.id).replay_of) == ("queued", "lost:3")
    run_all(both)
    assert [told.replay_of for told in both.scripts.outcome_batch()] == ["lost:3"]


def test_it_travels_through_an_outage_too(outage: Outage) -> None:
    job = new_job(replay_of="lost:3")
    outage.begin()
    with transaction.atomic():
        enqueuer().enqueue_many([job])
    outage.end()
    OutboxEntry.objects.update(next_try_at="2020-01-01T00:00:00Z")
    relay_duty.Relay().run(Context(outage.engine))
    view = read_job(outage.engine, job.id)
    assert view is not None
    assert view.replay_of == "lost:3"


def test_the_same_replay_pushed_twice_is_one_job_with_one_outcome(both: Engine) -> None:
    job = new_job(replay_of="lost:3")
    for _ in range(2):
        with transaction.atomic():
            enqueuer().enqueue_many([job])
    assert run_all(both) == [job.id]
    with transaction.atomic():
        enqueuer().enqueue_many([job])
    assert run_all(both) == []
    assert len(both.scripts.outcome_batch()) == 1


def test_a_nul_in_what_it_is_a_replay_of_is_refused_before_any_outbox(both: Engine) -> None:
    with transaction.atomic():
        (answer,) = enqueuer().enqueue_many([new_job(replay_of="a\0:1")])
    assert isinstance(answer, InvalidJob)
    assert answer.field == "replay_of"


def test_the_letters_look_keys_up_in_the_engine(both: Engine) -> None:
    job = new_job(key="invoice:42")
    enqueuer().enqueue(job)
    asked = [("acme", job.job_type, "invoice:42"), ("acme", job.job_type, "free")]
    assert key_holders()(asked) == [job.id, None]


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("succeeded", "succeeded"),
        ("discarded", "discarded"),
        ("died", "dead"),
        ("cancelled", "cancelled"),
        ("refused", "cancelled"),
        ("coalesced", "coalesced"),
    ],
)
def test_a_replay_that_redis_has_forgotten_is_still_found(both: Engine, state: str, shown: str) -> None:
    run = _run(state)
    view = found("j-1-r1")
    assert (view.id, view.state, view.attempts, view.error) == ("j-1-r1", shown, 2, "what became of it")
    assert (view.replay_of, view.job_type, view.tenant, view.ended_at) == ("j:1", "tests.echo", "acme", run.ended_at)
    assert (view.traceback, view.history) == ("", ())
    assert found("j").state == "dead", "the job that died is found as before"


@pytest.mark.parametrize("state", ["running", "lost"])
def test_nothing_is_made_up_about_a_replay_that_nobody_knows_the_end_of(both: Engine, state: str) -> None:
    _run(state)
    assert lookup("j-1-r1") is None


def _run(state: str) -> ReplayRun:
    now = timezone.now()
    letter = DeadLetter.objects.create(
        job_id="j", attempt=1, tenant_slug="acme", lane="bulk", queue="acme.bulk", job_type="tests.echo", owner="tests",
        reason="exhausted", due_at=now, dead_at=now, traceback="of another death", history=[{"n": 1}],
    )  # fmt: skip
    return ReplayRun.objects.create(
        letter=letter, number=1, job_id="j-1-r1", by="tests", state=state, ended_at=now, attempt=2,
        note="what became of it",
    )  # fmt: skip
