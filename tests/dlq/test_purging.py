"""Retention: what is drained goes after its time with all that is its own, and nothing else ever does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq import purging
from dlq.errors import InvalidAction
from dlq.models import BulkAction, BulkMember, DeadLetter, DeadLetterGroup, ReplayRun, SearchText, State
from dlq.purging import purge, purge_due
from dlq.services import letter_discard, letter_undo
from jobops.alerts.rules import Limits
from jobops.alerts.sources import Sources
from jobops.audit.models import AuditEntry
from jobops.scheduling.duties import Context
from jobops.steward import retention
from jobops.steward.duties import duties
from tenants.models import Tenant
from tests.dlq.causes.ways import wrong
from tests.dlq.letters import letter, letters
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def ago(**age: float) -> dict[str, Any]:
    return {"drained_at": timezone.now() - timedelta(**age)}


def there() -> set[int]:
    return set(DeadLetter.objects.values_list("pk", flat=True))


def test_only_what_was_drained_long_enough_ago_goes(acme: Tenant) -> None:
    very_old = timezone.now() - timedelta(days=4000)
    letter(acme, state=State.RESOLVED, **ago(days=30, seconds=5))
    letter(acme, state=State.DISCARDED, **ago(days=400))
    kept = {
        letter(acme, state=State.RESOLVED, **ago(days=29.99)).pk,
        letter(acme, state=State.DISCARDED, **ago(seconds=1)).pk,
        letter(acme, dead_at=very_old, due_at=very_old).pk,
        letter(acme, state=State.REPLAYING, dead_at=very_old).pk,
        # Whatever else a row says: what is not drained is kept.
        letter(acme, dead_at=very_old, drained_at=very_old).pk,
        letter(acme, state=State.REPLAYING, drained_at=very_old).pk,
    }
    assert purge_due() == 2
    assert there() == kept
    assert purge_due() == 0


def test_how_long_is_set(acme: Tenant, settings: Any) -> None:
    one = letter(acme, state=State.DISCARDED, **ago(days=31))
    settings.JOBOPS_RETENTION_DAYS = 60
    assert purge_due() == 0
    letter_undo(letter_id=one.pk, by="tests")
    settings.JOBOPS_RETENTION_DAYS = 7
    letter(acme, state=State.DISCARDED, **ago(days=8))
    assert purge_due() == 1
    assert there() == {one.pk}


def test_all_that_is_its_own_goes_too_and_its_cause_still_counts_it(acme: Tenant) -> None:
    old = letter(acme, state=State.RESOLVED, **ago(days=31))
    open_one = letter(acme)
    bulk = BulkAction.objects.create(kind="replay", by="tests", matched=2, done=2)
    for each in (old, open_one):
        ReplayRun.objects.create(letter=each, number=1, job_id=f"j{each.pk}", by="tests", state="succeeded", bulk=bulk)
        bulk.members.create(letter=each, state="done")
    group = DeadLetterGroup.objects.get()
    assert (group.resolved, group.purged, group.sample_id) == (1, 0, open_one.pk)
    assert purge_due() == 1
    for model in (SearchText, ReplayRun, BulkMember):
        assert list(model._default_manager.values_list("letter_id", flat=True)) == [open_one.pk]
    group.refresh_from_db()
    assert (group.open, group.resolved, group.purged, group.deaths) == (1, 0, 1, 2)
    assert wrong() == []


def test_what_the_alert_of_a_large_table_counts_is_what_is_left(acme: Tenant, engine: Any) -> None:
    letters(acme, 3, state=State.RESOLVED, **ago(days=31))
    letters(acme, 2, state=State.REPLAYING)

    def kept() -> int:
        return Sources(engine, timezone.now(), Limits([])).letters_kept

    assert kept() == DeadLetter.objects.count() == 5
    purge_due()
    assert kept() == DeadLetter.objects.count() == 2


def test_a_cause_of_which_nothing_is_left_remembers_what_it_was(acme: Tenant) -> None:
    letters(acme, 3, state=State.DISCARDED, **ago(days=31))
    purge_due()
    group = DeadLetterGroup.objects.get()
    assert (group.state, group.purged, group.deaths, group.sample_id) == ("drained", 3, 3, None)
    assert wrong() == []
    letter(acme)
    group.refresh_from_db()
    assert (group.state, group.open, group.purged) == ("active", 1, 3)


def test_it_goes_in_batches_what_was_drained_first_at_the_head_and_each_is_in_the_audit(acme: Tenant) -> None:
    late = letters(acme, 3, state=State.DISCARDED, **ago(days=31))
    letters(acme, 4, state=State.RESOLVED, **ago(days=40))
    assert purge_due(limit=4) == 4
    assert there() == {each.pk for each in late}
    assert purge_due(limit=2) == 2
    assert purge_due(limit=2) == 1
    rows = AuditEntry.objects.filter(action="letter.purge").order_by("pk")
    assert [row.after["letters"] for row in rows] == [4, 2, 1]
    assert {(row.actor, row.actor_kind, row.tenant_id) for row in rows} == {("scheduler", "system", None)}


def test_the_scheduler_does_it(acme: Tenant, engine: Any) -> None:
    letters(acme, 3, state=State.DISCARDED, **ago(days=31))
    assert [duty.run for duty in duties() if duty.name == "retention"] == [retention.run]
    assert retention.run(Context(engine)) == 3


def test_one_that_is_undone_after_it_was_picked_stays(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look and the lock: compare and delete, under the lock."""
    two = letters(acme, 2, state=State.DISCARDED, **ago(days=10))
    batch: Callable[..., int] = purging._batch

    def undone_first(*args: Any) -> int:
        letter_undo(letter_id=two[0].pk, by="tests")
        return batch(*args)

    monkeypatch.setattr(purging, "_batch", undone_first)
    everything = DeadLetter.objects.all()
    assert sum(purge(letters=everything, older_than=timedelta(days=7), by="tests", chosen="")) == 1
    assert [(each.pk, each.state) for each in DeadLetter.objects.all()] == [(two[0].pk, "open")]
    assert wrong() == []


def test_one_that_was_discarded_anew_counts_from_then(acme: Tenant, settings: Any) -> None:
    settings.JOBOPS_RETENTION_DAYS = 60
    one = letter(acme, state=State.DISCARDED, **ago(days=40))
    letter_undo(letter_id=one.pk, by="tests")
    letter_discard(letter_id=one.pk, by="tests", reason="r")
    settings.JOBOPS_RETENTION_DAYS = 30
    assert purge_due() == 0


def test_a_full_disk_leaves_everything(acme: Tenant) -> None:
    """No half of a batch: whichever statement fails, also the last one."""
    letters(acme, 3, state=State.DISCARDED, **ago(days=31))
    letter(acme, state=State.DISCARDED, **ago(days=31))
    before = (there(), SearchText.objects.count(), DeadLetterGroup.objects.values().get())
    for statement in ('DELETE FROM "dlq_searchtext"', 'DELETE FROM "dlq_deadletter"', 'UPDATE "dlq_deadlettergroup"'):
        refused = []

        def full(execute: Any, sql: str, params: Any, many: bool, context: Any, start: str = statement) -> Any:
            if sql.startswith(start):
                refused.append(sql)  # noqa: B023
                raise OperationalError("database or disk is full")
            return execute(sql, params, many, context)

        with connection.execute_wrapper(full), pytest.raises(OperationalError):
            purge_due()
        assert refused, statement
        assert (there(), SearchText.objects.count(), DeadLetterGroup.objects.values().get()) == before
        assert not AuditEntry.objects.filter(action="letter.purge").exists()
    assert purge_due() == 4


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=6, hours=23), timedelta(days=-1)])
def test_nobody_purges_what_was_drained_a_week_ago_or_later(acme: Tenant, age: timedelta) -> None:
    letter(acme, state=State.DISCARDED, **ago(days=6.99))
    with pytest.raises(InvalidAction) as refusal:
        purge(letters=DeadLetter.objects.all(), older_than=age, by="tests", chosen="")
    assert (refusal.value.field, "at least 7 days" in refusal.value.problem) == ("older_than", True)
    assert list(purge(letters=DeadLetter.objects.all(), older_than=timedelta(days=7), by="tests", chosen="")) == []
    assert DeadLetter.objects.count() == 1


def test_a_batch_takes_as_many_queries_for_a_hundred_as_for_ten(acme: Tenant) -> None:
    counts = []
    for count in (10, 90):
        letters(acme, count, state=State.DISCARDED, **ago(days=31))
        with CaptureQueriesContext(connection) as queries:
            assert purge_due() == count
        counts.append(len(queries))
    assert counts[0] == counts[1]
