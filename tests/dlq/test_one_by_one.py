"""A batch that cannot be done at once, and is done letter by letter: the counts of causes stay true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import DataError
from django.utils import timezone

from dlq import bulk_run, replay_run
from dlq.bulk import bulk_confirm, bulk_draft
from dlq.models import BulkAction, DeadLetter, ReplayRun
from dlq.replay_next import letters_of
from jobops.engine.client import Engine
from tenants.models import Tenant
from tests.dlq.causes.ways import discard, wrong
from tests.dlq.letters import letters, states
from tests.dlq.replaying.many import confirmed, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def acme(both: Engine) -> Tenant:
    return Tenant.objects.get(slug="acme")


def of_two_causes(acme: Tenant) -> list[DeadLetter]:
    return [*letters(acme, 3, error="torn"), *letters(acme, 3, error="wet")]


def test_one_whose_next_run_is_there_already_leaves_the_others_counted(acme: Tenant) -> None:
    """As after a restore of a part."""
    its = of_two_causes(acme)
    ReplayRun.objects.create(letter=its[2], number=1, job_id="other", by="tests", state="lost", ended_at=timezone.now())
    bulk = work(confirmed(canary=0))
    assert (bulk.state, bulk.done, bulk.skipped_for) == ("finished", 5, {"it failed: IntegrityError": 1})
    assert states(its) == ["replaying"] * 2 + ["open"] + ["replaying"] * 3
    assert wrong() == []


@pytest.mark.parametrize("kind", ["replay", "discard", "undo"])
@pytest.mark.parametrize("after", [True, False])
def test_whatever_fails_of_one_and_whenever_the_others_are_counted(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch, kind: str, after: bool
) -> None:
    its = of_two_causes(acme)
    if kind == "undo":
        for each in its:
            discard(each)
    module, name = {
        "replay": (replay_run, "send"), "discard": (bulk_run, "discard_batch"), "undo": (bulk_run, "undo_batch")
    }[kind]  # fmt: skip
    do = getattr(module, name)

    def picky(some: Sequence[DeadLetter], *args: Any) -> Any:
        done = do(some, *args) if after else None
        if its[1].pk in [each.pk for each in some]:
            raise DataError("never")
        return done if after else do(some, *args)

    monkeypatch.setattr(module, name, picky)
    bulk = work(of_all(kind))
    assert (bulk.state, bulk.done, bulk.skipped_for) == ("finished", 5, {"it failed: DataError": 1})
    assert len(set(states(its))) == 2
    assert wrong() == []


def of_all(kind: str) -> BulkAction:
    if kind == "replay":
        return confirmed(canary=0)
    bulk = bulk_draft(kind=kind, letters=DeadLetter.objects.all(), by="command:ada", chosen="", reason="r")
    return bulk_confirm(bulk_id=bulk.pk, by="command:ada")


def test_a_letter_that_was_not_read_under_the_lock_cannot_be_counted(acme: Tenant) -> None:
    """It fails at once, instead of being left out of the counts."""
    [it] = letters_of([each.pk for each in letters(acme, 1)])
    for name in ("group_id", "due_at", "dead_at"):
        with pytest.raises(AttributeError):
            getattr(it, name)
