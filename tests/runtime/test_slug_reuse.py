"""A slug given anew: what was asked for by its former owner never runs for the next one, wherever it waited (I9)."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from dlq.models import DeadLetter
from dlq.services import letter_replay
from dlq.watch import watch
from jobops.context import outbox_rows, relay, relay_answers
from jobops.context.models import OutboxEntry
from jobops.contracts.running import RunningJob, running
from jobops.engine.client import Engine
from jobops.engine.errors import UnknownTenant
from jobops.runtime import enqueuer, lookup
from jobops.runtime.enqueuer import pusher
from tenants.deletion import tenant_delete
from tenants.models import Tenant
from tests.dlq.replays import dead
from tests.runtime import factory
from tests.runtime.conftest import Outage
from tests.runtime.factory import echo, new_job

pytestmark = pytest.mark.django_db(transaction=True)


def left_behind(monkeypatch: pytest.MonkeyPatch) -> str:
    """A job of ``acme`` whose process was killed after the commit, before the push."""
    with monkeypatch.context() as patch:
        patch.setattr(enqueuer(), "push", lambda ids: 0)
        with transaction.atomic():
            return echo.using(tenant="acme").enqueue().id


def given_anew(engine: Engine) -> Tenant:
    tenant_delete(tenant=Tenant.objects.get(slug="acme"), by="tests", engine=engine, force=True)
    return factory.tenant("acme")


def push_what_is_due() -> None:
    OutboxEntry.objects.filter(state="waiting").update(next_try_at=timezone.now() - timedelta(seconds=1))
    relay.relay(pusher())


def test_rows_say_whose_they_are(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = left_behind(monkeypatch)
    assert OutboxEntry.objects.get().tenant_uid == str(Tenant.objects.get().pk)
    found = lookup(job_id)
    assert found is not None
    assert found.tenant_uid == str(Tenant.objects.get().pk)


def test_rows_of_an_outage_say_so_too(outage: Outage) -> None:
    outage.begin()
    echo.using(tenant="acme").enqueue()
    assert OutboxEntry.objects.get().tenant_uid == str(Tenant.objects.get().pk)


def test_what_waited_in_the_outbox_is_cancelled_with_its_tenant(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    left_behind(monkeypatch)
    given_anew(both)
    push_what_is_due()
    assert factory.run_all(both) == []
    assert OutboxEntry.objects.get().state == "cancelled"


def test_a_row_that_nobody_saw_is_refused_when_the_slug_is_another_customers(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction committed after the deletion had looked."""
    job_id = left_behind(monkeypatch)
    row = OutboxEntry.objects.get()
    given_anew(both)
    row.save()
    push_what_is_due()
    row.refresh_from_db()
    assert (row.state, row.attempts) == ("waiting", 1)
    assert row.last_error.startswith("UnknownTenant")
    assert factory.run_all(both) == []
    OutboxEntry.objects.update(attempts=relay_answers.PARK_AFTER - 1)
    push_what_is_due()
    row.refresh_from_db()
    assert (row.state, row.parked_as) == ("parked", "refused")
    assert outbox_rows.unpark(job_id)
    push_what_is_due()
    assert factory.run_all(both) == []


def test_a_row_of_the_release_before_goes_by_the_slug(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id = left_behind(monkeypatch)
    OutboxEntry.objects.update(tenant_uid="")
    push_what_is_due()
    assert factory.run_all(both) == [job_id]


def test_a_letter_whose_replay_waited_in_the_outbox_opens_at_once(
    both: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = dead(both)
    with monkeypatch.context() as patch:
        patch.setattr(enqueuer(), "push", lambda ids: 0)
        letter_replay(letter_id=letter.pk, by="tests")
    assert watch(both) == 0
    new = given_anew(both)
    assert watch(both) == 1, "not in a minute"
    letter.refresh_from_db()
    assert (letter.state, letter.note) == ("open", "Replay 1 was cancelled before it ran.")
    assert letter.tenant is None
    push_what_is_due()
    assert factory.run_all(both) == []
    assert DeadLetter.objects.filter(tenant=new).count() == 0


@pytest.mark.parametrize("in_transaction", [False, True])
def test_what_a_job_of_the_former_owner_enqueues_is_refused(both: Engine, in_transaction: bool) -> None:
    echo.using(tenant="acme").enqueue()
    job = factory.claim(both)
    assert job is not None
    given_anew(both)
    current = RunningJob(
        job.id, job.tenant, job.lane, job.job_type, job.attempt, job.max_attempts, "c", tenant_uid=job.tenant_uid
    )
    surroundings = transaction.atomic() if in_transaction else nullcontext()
    with surroundings, running(current), pytest.raises(UnknownTenant):
        echo.using(tenant="acme").enqueue()
    assert factory.waiting(both) == []
    assert not OutboxEntry.objects.exists()


def test_of_a_batch_only_the_former_owners_are_refused(both: Engine) -> None:
    uid = str(Tenant.objects.get().pk)
    with transaction.atomic():
        answers = enqueuer().enqueue_many([new_job(tenant_uid="0"), new_job(), new_job(tenant_uid=uid)])
    assert [isinstance(answer, UnknownTenant) for answer in answers] == [True, False, False]
    assert len(factory.waiting(both)) == 2
