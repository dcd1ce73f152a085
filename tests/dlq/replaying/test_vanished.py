"""Members of a replay whose dead letters are deleted: at whatever stage that is, it ends and says so."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from dlq import purging
from dlq.bulk import bulk_confirm, bulk_draft
from dlq.bulk_batch import LETTER_GONE
from dlq.causes import counting
from dlq.models import BulkAction, BulkMember, DeadLetter
from dlq.replay_plan import AT_ONCE
from dlq.services import letter_discard
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.letters import letters
from tests.dlq.replaying.many import confirmed, succeed, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def vanish(some: Sequence[DeadLetter], *, with_members: bool) -> None:
    """Delete them. Members stay when they are made at the very moment of the deletion, which cannot know of them."""
    kept = list(BulkMember.objects.filter(letter__in=some))
    DeadLetter.objects.filter(pk__in=[each.pk for each in some]).delete()
    if not with_members:
        BulkMember.objects.bulk_create(kept)


def to_the_end(engine: Engine, bulk: BulkAction) -> BulkAction:
    for _ in range(10):
        work(bulk)
        succeed(engine)
    return work(bulk)


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("with_members", [True, False])
@pytest.mark.parametrize("which", ["some of the canary", "the canary", "some of the rest", "the rest", "all"])
@pytest.mark.parametrize("stage", ["before it begins", "while its canary runs", "when its canary has passed"])
def test_it_ends_and_counts_those_that_are_gone(
    both: Engine, acme: Tenant, stage: str, which: str, with_members: bool, in_order: bool
) -> None:
    its = letters(acme, 8)
    bulk = confirmed(canary=3, in_order=in_order)
    if stage != "before it begins":
        work(bulk)
    if stage == "when its canary has passed":
        succeed(both)
    of = {
        "some of the canary": its[1:3], "the canary": its[:3], "some of the rest": its[4:7], "the rest": its[3:],
        "all": its,
    }  # fmt: skip
    # What was sent to run is undrained, and nobody deletes it: its members are done already.
    waiting = set(bulk.members.filter(state="waiting").values_list("letter_id", flat=True))
    gone = [each for each in of[which] if each.pk in waiting]
    vanish(gone, with_members=with_members)
    bulk = to_the_end(both, bulk)
    assert (bulk.state, bulk.matched, bulk.done, bulk.skipped) == ("finished", 8, 8 - len(gone), len(gone))
    assert bulk.skipped_for == ({LETTER_GONE: len(gone)} if gone else {})
    assert not bulk.members.filter(state="waiting").exists()


@pytest.mark.parametrize("in_order", [True, False])
def test_those_behind_many_that_are_gone_are_sent(both: Engine, acme: Tenant, in_order: bool) -> None:
    """More than are looked at for so few that may go at once."""
    its = letters(acme, 70)
    bulk = confirmed(canary=0, rate=1000.0, in_flight=1, in_order=in_order)
    vanish(its[:69], with_members=False)
    bulk = to_the_end(both, bulk)
    assert (bulk.state, bulk.done, bulk.skipped) == ("finished", 1, 69)


def test_those_that_wait_for_a_key_do_not_hide_one_that_is_gone(both: Engine, acme: Tenant) -> None:
    its = letters(acme, 4, key="k")
    bulk = confirmed(canary=0)
    vanish(its[2:3], with_members=False)
    bulk = to_the_end(both, bulk)
    assert (bulk.state, bulk.done, bulk.skipped_for) == ("finished", 3, {LETTER_GONE: 1})


@pytest.mark.postgres_only
def test_a_draft_that_is_made_while_a_purge_is_about_to_commit(
    both: Engine, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    its = letters(acme, 3)
    letter_discard(letter_id=its[0].pk, by="tests", reason="r")
    DeadLetter.objects.filter(pk=its[0].pk).update(drained_at=timezone.now() - timedelta(days=4000))
    deleted, drafted = threading.Event(), threading.Event()
    count = counting.count_purged

    def late(letters: Sequence[DeadLetter]) -> None:
        deleted.set()
        assert drafted.wait(20)
        count(letters)

    def purge() -> None:
        try:
            purging.purge_due()
        finally:
            connection.close()

    monkeypatch.setattr(purging, "count_purged", late)
    thread = threading.Thread(target=purge)
    thread.start()
    assert deleted.wait(20)
    bulk = bulk_draft(kind="replay", letters=DeadLetter.objects.all(), by="command:ada", chosen="")
    drafted.set()
    thread.join()
    bulk_confirm(bulk_id=bulk.pk, by="command:ada", plan=AT_ONCE)
    assert BulkMember.objects.filter(letter_id=its[0].pk).exists()
    bulk = to_the_end(both, bulk)
    assert (bulk.state, bulk.matched, bulk.done, bulk.skipped_for) == ("finished", 3, 2, {LETTER_GONE: 1})
