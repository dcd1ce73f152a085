"""A batch from its filling to the job after it, on both stores."""

from __future__ import annotations

import pytest
from django.db import transaction

from dlq.models import DeadLetter
from dlq.services import letter_discard, letter_replay
from jobops import Batch, BatchCancelled, BatchGone, BatchStatus, DepthExceeded, UnknownTenant
from jobops.audit.models import AuditEntry
from jobops.batches.models import Batch as Row
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.engine.records import Outcome
from jobops.runtime import batches, lookup
from jobops.runtime.batches import batch_cancel
from tests.runtime.batch_factory import POISON, after_jobs, count, end, filled, look, row
from tests.runtime.conftest import Outage
from tests.runtime.factory import claim, echo, run_all, settle, tenant, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_job_after_it_runs_once_when_every_member_is_over_well(both: Engine) -> None:
    batch = filled(3)
    assert batch.status() == BatchStatus("running", total=3, left=3)
    count(both)
    end(both, None, Outcome.discarded("Discard", "gone"))
    count(both)
    assert batch.status() == BatchStatus("running", total=3, left=1, succeeded=1, discarded=1)
    assert after_jobs(both) == []
    end(both, None)
    for _ in range(3):
        count(both)
        look(both)
    then_id = f"{batch.id}-then"
    assert batch.status() == BatchStatus("succeeded", total=3, succeeded=2, discarded=1, then_job_id=then_id)
    assert after_jobs(both) == [then_id]
    found = lookup(then_id)
    assert found is not None
    assert (found.correlation_id, found.lane, found.max_attempts) == (batch.id, "bulk", 5)
    run_all(both)
    count(both)
    assert after_jobs(both) == []
    assert list(both.redis.scan_iter("jobops:batch*")) == []
    assert row(batch).ended_at is not None


def test_it_cannot_end_while_it_is_being_filled(both: Engine) -> None:
    batch = Batch(tenant="acme")
    with batch:
        for number in range(3):
            batch.add(echo, number)
            run_all(both)
            count(both)
            assert batch.status().state == "filling"
    assert row(batch).state == "running"
    count(both)
    assert batch.status() == BatchStatus("succeeded", total=3, succeeded=3)


def test_an_empty_batch_is_over_at_once(both: Engine) -> None:
    batch = filled(0)
    count(both)
    assert batch.status().state == "succeeded"
    assert after_jobs(both) == [f"{batch.id}-then"]


def test_a_dead_member_holds_it_up_and_the_success_of_its_replay_heals_it(both: Engine) -> None:
    batch = filled(2)
    end(both, None, POISON)
    count(both)
    assert batch.status() == BatchStatus("stuck", total=2, succeeded=1, dead=1)
    letter = DeadLetter.objects.get()
    assert letter.batch == batch.id
    letter_replay(letter_id=letter.pk, by="tests")
    count(both)
    assert batch.status() == BatchStatus("running", total=2, left=1, succeeded=1)
    end(both, None)
    count(both)
    assert batch.status().state == "succeeded"
    assert after_jobs(both) == [f"{batch.id}-then"]


def test_when_a_person_discards_the_letters_it_ends_without_the_job_after_it(both: Engine) -> None:
    batch = filled(3)
    end(both, None, POISON, POISON)
    count(both)
    for letter in DeadLetter.objects.all():
        assert batch.status().state == "stuck"
        letter_discard(letter_id=letter.pk, by="tests", reason="no such row")
        look(both)
    assert batch.status() == BatchStatus("ended", total=3, succeeded=1, dead=2)
    assert after_jobs(both) == []


def test_with_a_cancelled_member_it_ends_without_the_job_after_it(both: Engine) -> None:
    batch = filled(2)
    assert both.scripts.cancel(waiting(both)[0]) == "cancelled"
    end(both, None)
    count(both)
    assert batch.status() == BatchStatus("ended", total=2, succeeded=1, cancelled=1)
    assert after_jobs(both) == []


def test_a_coalesced_member_counts_as_well_ended(both: Engine) -> None:
    echo.using(tenant="acme", key="k").enqueue()
    with Batch(tenant="acme") as batch:
        assert batch.add(echo.using(tenant="acme", key="k")).state == "coalesced"
        batch.add(echo)
    assert batch.status() == BatchStatus("running", total=2, left=1, coalesced=1)
    run_all(both)
    count(both)
    assert batch.status() == BatchStatus("succeeded", total=2, succeeded=1, coalesced=1)


def test_in_a_transaction_it_begins_with_the_commit(both: Engine) -> None:
    with transaction.atomic():
        batch = filled(2)
        assert waiting(both) == []
    assert len(waiting(both)) == 2
    run_all(both)
    count(both)
    assert batch.status().state == "succeeded"


def test_a_rollback_leaves_nothing_of_it(both: Engine) -> None:
    with pytest.raises(KeyError), transaction.atomic():  # noqa: PT012  (what ends the block is what is looked at)
        batch = filled(2)
        raise KeyError
    with pytest.raises(BatchGone):
        batch.status()
    count(both)
    assert (Row.objects.count(), OutboxEntry.objects.count(), waiting(both)) == (0, 0, [])
    assert both.scripts.batches_changed() == []


def test_an_exception_in_the_block_cancels_what_does_not_run_yet(both: Engine) -> None:
    with pytest.raises(KeyError), Batch(tenant="acme") as batch:  # noqa: PT012  (what ends the block is what is looked at)
        batch.add_many(echo, ({"value": number} for number in range(3)))
        running = claim(both)
        raise KeyError
    assert waiting(both) == []
    assert batch.status() == BatchStatus("cancelled", total=3, left=1, cancelled=2)
    assert AuditEntry.objects.get(action="batch.cancel").reason == "an exception ended its filling"
    assert running is not None
    settle(both, running, Outcome.succeeded())
    count(both)
    assert batch.status() == BatchStatus("cancelled", total=3, succeeded=1, cancelled=2)
    assert row(batch).ended_at is not None
    assert after_jobs(both) == []


def test_the_same_within_a_transaction_that_goes_on(both: Engine) -> None:
    with transaction.atomic():
        with pytest.raises(KeyError), Batch(tenant="acme") as batch:  # noqa: PT012  (what ends the block is what is looked at)
            batch.add(echo)
            raise KeyError
        assert OutboxEntry.objects.get().state == "cancelled", "it is not pushed at all"
        kept = echo.using(tenant="acme").enqueue()
    assert waiting(both) == [kept.id]
    count(both)
    assert batch.status() == BatchStatus("cancelled", total=1, cancelled=1)


def test_a_broken_transaction_hides_no_exception(both: Engine) -> None:
    with pytest.raises(KeyError, match="mine"), transaction.atomic(), Batch(tenant="acme"):  # noqa: PT012  (what ends the block is what is looked at)
        transaction.set_rollback(True)
        raise KeyError("mine")
    assert Row.objects.count() == 0


def test_a_refused_member_is_none_and_the_batch_goes_on(both: Engine) -> None:
    tenant("small", depth_limit=2)
    with Batch(tenant="small") as batch:
        answers = batch.add_many(echo, ({"value": number} for number in range(5)))
        assert [type(answer).__name__ for answer in answers[2:]] == ["DepthExceeded"] * 3
        with pytest.raises(DepthExceeded):
            batch.add(echo)
    assert batch.status() == BatchStatus("running", total=2, left=2)
    with pytest.raises(UnknownTenant), Batch(tenant="nobody"):
        pass
    assert Row.objects.count() == 1


def test_one_cancelled_by_a_person_says_so_where_it_is_filled(both: Engine) -> None:
    with pytest.raises(BatchCancelled), Batch(tenant="acme") as batch:  # noqa: PT012  (what ends the block is what is looked at)
        batch.add(echo)
        assert batch_cancel(batch_id=batch.id, by="command:anna", reason="wrong file")
        batch.add(echo)
    count(both)
    count(both)
    assert waiting(both) == []
    assert batch.status() == BatchStatus("cancelled", total=2, cancelled=2)
    assert batch_cancel(batch_id=batch.id, by="command:anna") is None
    told = AuditEntry.objects.get(action="batch.cancel")
    assert (told.actor, told.reason, told.tenant_slug, told.after["state"]) == (
        "command:anna",
        "wrong file",
        "acme",
        "cancelled",
    )


def test_a_large_batch_is_cancelled_portion_by_portion(both: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "AT_ONCE", 100)
    batch = filled(2_500)
    assert batch_cancel(batch_id=batch.id, by="tests") is not None
    left = len(waiting(both))
    assert 0 < left < 2_500
    for _ in range(8):
        count(both)
    assert waiting(both) == []
    assert batch.status() == BatchStatus("cancelled", total=2_500, cancelled=2_500)
    assert row(batch).ended_at is not None


def test_while_redis_is_away_members_wait_in_the_outbox_and_what_is_known_is_told(outage: Outage) -> None:
    batch = filled(1)
    end(outage.engine, None)
    count(outage.engine)
    outage.begin()
    second = filled(2)
    assert second.status() == BatchStatus("running", total=2, left=2)
    assert OutboxEntry.objects.filter(batch=second.id).count() == 2
    assert batch.status() == BatchStatus("succeeded", total=1, succeeded=1, then_job_id=f"{batch.id}-then")
    outage.end()
    look(outage.engine)
    assert second.status() == BatchStatus("running", total=2, left=2)
