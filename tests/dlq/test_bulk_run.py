"""Working a bulk action off: every member once, honest counts, and one bad letter stops no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlq import bulk_batch, bulk_run
from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_preview import preview
from dlq.bulk_progress import died_again, progress
from dlq.bulk_run import run_batch
from dlq.filters import LetterFilter
from dlq.models import BulkAction, BulkMember, DeadLetter, ReplayRun, State
from dlq.ports import set_key_holders
from dlq.replay_plan import AT_ONCE
from dlq.services import letter_discard
from jobops.audit.models import AuditEntry
from jobops.context.models import OutboxEntry
from jobops.engine.client import Engine
from jobops.scheduling.duties import Context
from jobops.steward.bulk import KEEP_DRAFTS, BulkActions, forget_drafts
from tenants.models import Tenant
from tests.dlq.letters import gather_statistics, letter, letters, states
from tests.runtime import factory  # registers tests.echo
from tests.tenants.people import new_tenant

pytestmark = pytest.mark.django_db
assert factory.echo


@pytest.fixture
def acme() -> Tenant:
    return new_tenant("acme")


def running(kind: str, some: Sequence[DeadLetter]) -> BulkAction:
    ids = [each.pk for each in some]
    bulk = bulk_draft(kind=kind, letters=DeadLetter.objects.filter(pk__in=ids), by="command:ada", chosen="ticked")
    plan = AT_ONCE if kind == "replay" else None
    return bulk_confirm(bulk_id=bulk.pk, by="command:ada", reason="r", plan=plan)


def work_off(bulk: BulkAction, size: int = 200) -> BulkAction:
    while run_batch(bulk.pk, size):
        pass
    bulk.refresh_from_db()
    assert bulk.state == "finished"
    assert bulk.done + bulk.skipped == bulk.matched
    return bulk


def test_counts_are_of_what_was_done_and_say_why_the_rest_was_not(acme: Tenant) -> None:
    """DL-13: five are ticked, two are discarded in another tab: three replayed, two skipped with reasons."""
    five = letters(acme, 5)
    bulk = running("replay", five)
    for one in five[:2]:
        letter_discard(letter_id=one.pk, by="command:bob", reason="r")
    work_off(bulk)
    assert (bulk.matched, bulk.done, bulk.skipped_for) == (5, 3, {"already discarded": 2})
    assert states(five) == ["discarded"] * 2 + ["replaying"] * 3
    whys = bulk.members.order_by("pk").values_list("state", "why")
    assert list(whys) == [("skipped", "already discarded")] * 2 + [("done", "")] * 3
    assert OutboxEntry.objects.count() == ReplayRun.objects.filter(bulk=bulk).count() == 3


def test_a_letter_in_two_bulk_actions_is_replayed_once(acme: Tenant) -> None:
    """DL-05, I8"""
    some = letters(acme, 4)
    first, second = running("replay", some), running("replay", some[2:])
    run_batch(first.pk, size=3)
    work_off(second), work_off(first)
    assert (first.done, first.skipped_for) == (3 + 0, {"already being replayed": 1})
    assert (second.done, second.skipped_for) == (1, {"already being replayed": 1})
    assert OutboxEntry.objects.count() == 4
    assert set(DeadLetter.objects.values_list("replays", flat=True)) == {1}


def test_a_letter_whose_key_is_taken_stays_and_the_others_go(acme: Tenant) -> None:
    """DL-15: of ten, one whose key a live job holds; it is open afterwards, and nine are replayed."""
    nine, kept = letters(acme, 9), letter(acme, key="invoice:42")
    set_key_holders(lambda wanted: ["live-job" if key == "invoice:42" else None for _, _, key in wanted])
    try:
        bulk = running("replay", [*nine, kept])
        seen = preview(bulk)
        work_off(bulk)
    finally:
        set_key_holders(None)
    assert (bulk.done, bulk.skipped) == (seen.will_do, sum(seen.skipped.values())) == (9, 1)
    assert "a live job holds its key" in next(iter(bulk.skipped_for))
    assert states([kept]) == ["open"]


def test_one_bad_letter_stops_no_other(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    some = letters(acme, 5)
    real = bulk_run.discard_batch

    def picky(batch: Sequence[DeadLetter], *how: Any) -> dict[int, str]:
        done = real(batch, *how)
        if any(each.pk == some[2].pk for each in batch):
            raise DataError("this one is odd")
        return done

    monkeypatch.setattr(bulk_run, "discard_batch", picky)
    bulk = work_off(running("discard", some))
    assert (bulk.done, bulk.skipped_for) == (4, {"it failed: DataError": 1})
    assert states(some) == ["discarded", "discarded", "open", "discarded", "discarded"]


def test_a_database_that_is_busy_costs_no_letter(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    some = letters(acme, 3)
    bulk = running("discard", some)

    def busy(*args: Any) -> dict[int, str]:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(bulk_run, "discard_batch", busy)
        with pytest.raises(OperationalError):
            run_batch(bulk.pk)
    bulk.refresh_from_db()
    assert (bulk.state, bulk.done, bulk.skipped) == ("running", 0, 0)
    assert work_off(bulk).done == 3


def test_letters_that_are_deleted_meanwhile_are_told(acme: Tenant) -> None:
    some = letters(acme, 3)
    bulk = running("discard", some)
    some[0].delete()
    work_off(bulk)
    assert (bulk.matched, bulk.done, bulk.skipped_for) == (3, 2, {"its dead letter was deleted meanwhile": 1})


def test_reasons_are_told_apart_only_so_far(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    some = letters(acme, 60)
    whys = {each.pk: f"no {each.pk}" for each in some}
    monkeypatch.setattr(bulk_run, "discard_batch", lambda batch, *how: whys)
    bulk = work_off(running("discard", some))
    assert len(bulk.skipped_for) == bulk_batch.MOST_REASONS + 1
    assert bulk.skipped_for[bulk_batch.OTHER_REASONS] == 60 - bulk_batch.MOST_REASONS


@pytest.mark.slow
def test_more_than_ten_thousand_are_all_covered(acme: Tenant) -> None:
    """DL-11, DL-20: 12,000 letters; the total is exact and so is what was done."""
    letters(acme, 12_000)
    gather_statistics()
    wanted = LetterFilter(tenant="acme").apply(DeadLetter.objects.all())
    assert wanted.count() == 12_000
    bulk = bulk_draft(kind="discard", letters=wanted, by="command:ada", chosen="tenant=acme", reason="r")
    assert (bulk.matched, preview(bulk).will_do) == (12_000, 12_000)
    work_off(bulk_confirm(bulk_id=bulk.pk, by="command:ada"), size=2_000)
    assert bulk.members.filter(state=BulkMember.State.DONE).count() == 12_000
    assert DeadLetter.objects.filter(state=State.DISCARDED).count() == 12_000


@pytest.mark.parametrize("kind", ["replay", "discard"])
def test_a_batch_of_many_takes_no_more_queries_than_one_of_few(acme: Tenant, kind: str) -> None:
    counts = []
    for size in (10, 30):  # more are inserted in several statements, as SQLite takes so many values at once
        bulk = running(kind, [*letters(acme, size), letter(acme, state=State.RESOLVED)])
        with CaptureQueriesContext(connection) as captured:
            assert run_batch(bulk.pk) == size + 1
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_progress_tells_what_became_of_each(acme: Tenant) -> None:
    some = letters(acme, 6)
    bulk = running("replay", some)
    run_batch(bulk.pk, size=5)
    runs = list(ReplayRun.objects.filter(bulk=bulk).order_by("pk"))
    for run, state in zip(runs, ("succeeded", "discarded", "died", "lost"), strict=False):
        ReplayRun.objects.filter(pk=run.pk).update(state=state)
    bulk.refresh_from_db()
    told = progress(bulk)
    assert (told.matched, told.done, told.skipped, told.waiting) == (6, 5, 0, 1)
    assert (told.running, told.succeeded, told.died, told.came_back) == (1, 2, 1, 1)
    assert not told.is_over
    assert [run.letter for run in died_again(bulk)] == [some[2]]


def test_large_and_small_ones_take_turns(acme: Tenant, engine: Engine) -> None:
    large, small = running("discard", letters(acme, 500)), running("discard", letters(acme, 3))
    duty, context = BulkActions(), Context(engine)
    assert [duty.run(context) for _ in range(5)] == [200, 3, 200, 100, 0]
    for bulk in (large, small):
        bulk.refresh_from_db()
        assert bulk.state == "finished"


def test_drafts_that_nobody_confirmed_are_forgotten_after_a_day(acme: Tenant, engine: Engine) -> None:
    one = letter(acme)
    letters_of_it = DeadLetter.objects.filter(pk=one.pk)
    old, new, confirmed = (
        bulk_draft(kind="discard", letters=letters_of_it, by="command:ada", chosen="", reason="r") for _ in range(3)
    )
    bulk_confirm(bulk_id=confirmed.pk, by="command:ada")
    BulkAction.objects.exclude(pk=new.pk).update(created_at=timezone.now() - KEEP_DRAFTS)
    assert forget_drafts(Context(engine)) == 1
    assert forget_drafts(Context(engine)) == 0
    assert set(BulkAction.objects.all()) == {new, confirmed}
    assert BulkMember.objects.count() == 2
    assert not BulkAction.objects.filter(pk=old.pk).exists()
    assert set(AuditEntry.objects.filter(target_kind="bulk").values_list("target_id", flat=True)) == {str(confirmed.pk)}
